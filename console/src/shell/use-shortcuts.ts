import { useEffect } from 'react';

export interface ShortcutActions {
  openPalette: () => void;
  openHelp: () => void;
  goTo: (key: string) => void;
}

/** Time in which the second key of `g r` must follow. */
const CHORD_MS = 1500;

/** Whether a person types into a field, or a dialog is open. Single keys then have their usual meaning. */
export const isTyping = ({ target }: KeyboardEvent): boolean =>
  target instanceof HTMLElement &&
  (target.closest('input, textarea, select, [contenteditable], [role=menu], [role=dialog]') !== null ||
    document.querySelector('[role=dialog]') !== null);

/** Handles the keys of all pages. */
export function useShortcuts({ openPalette, openHelp, goTo }: ShortcutActions): void {
  useEffect(() => {
    let chordUntil = 0;
    function onKey(event: KeyboardEvent): void {
      if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        openPalette();
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isTyping(event)) return;
      if (event.timeStamp < chordUntil) {
        chordUntil = 0;
        goTo(event.key);
      } else if (event.key === 'g') chordUntil = event.timeStamp + CHORD_MS;
      else if (event.key === '?') openHelp();
      else if (event.key === '/') {
        const field = document.querySelector<HTMLInputElement>('[data-search]');
        if (field === null) openPalette();
        else field.select();
        field?.focus();
        event.preventDefault();
      }
    }
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [openPalette, openHelp, goTo]);
}
