import { type JSX, useEffect, useState } from 'react';
import { Icon } from './icon.tsx';

/** Copies a text, and says so. */
export function CopyButton({
  text,
  label = 'Copy',
  small = true,
}: {
  text: string;
  label?: string;
  small?: boolean;
}): JSX.Element {
  const [state, setState] = useState<'idle' | 'copied' | 'failed'>('idle');
  useEffect(() => {
    if (state === 'idle') return;
    const timer = setTimeout(() => setState('idle'), 2000);
    return () => clearTimeout(timer);
  }, [state]);
  const copy = () =>
    navigator.clipboard?.writeText(text).then(
      () => setState('copied'),
      () => setState('failed'),
    ) ?? setState('failed');
  return (
    <button type="button" className={small ? 'button small' : 'button'} onClick={() => void copy()}>
      <Icon name={state === 'copied' ? 'check' : 'copy'} size={14} />
      <span aria-live="polite">
        {state === 'copied' ? 'Copied' : state === 'failed' ? 'Select the text to copy it' : label}
      </span>
    </button>
  );
}

/** A text that is meant to be copied. */
export function Code({ text, label = 'Copy' }: { text: string; label?: string }): JSX.Element {
  return (
    <div className="code">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable with the keyboard */}
      <pre tabIndex={0}>{text}</pre>
      <CopyButton text={text} label={label} />
    </div>
  );
}
