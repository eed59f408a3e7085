import type { JSX, ReactNode } from 'react';
import { Dialog as AriaDialog, Heading, Modal, ModalOverlay } from 'react-aria-components';
import { Icon } from './icon.tsx';

/** A dialog over the page. `Escape` closes it, and the focus returns to where it was. */
export function Dialog({
  title,
  isWide = false,
  isDismissable = true,
  onClose,
  children,
}: {
  title: string;
  isWide?: boolean;
  /** Whether a click outside closes it. */
  isDismissable?: boolean;
  onClose: () => void;
  children: ReactNode;
}): JSX.Element {
  return (
    <ModalOverlay
      className="overlay"
      isOpen
      isDismissable={isDismissable}
      onOpenChange={(isOpen) => !isOpen && onClose()}
    >
      <Modal className={isWide ? 'dialog wide' : 'dialog'}>
        <AriaDialog>
          <div className="dialog-head">
            <Heading slot="title" level={2}>
              {title}
            </Heading>
            <button type="button" className="button quiet icon-only" aria-label="Close" onClick={onClose}>
              <Icon name="close" />
            </button>
          </div>
          {children}
        </AriaDialog>
      </Modal>
    </ModalOverlay>
  );
}
