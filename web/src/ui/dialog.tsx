import type { ReactNode } from "react";
import { Dialog as AriaDialog } from "react-aria-components/Dialog";
import { Modal, ModalOverlay } from "react-aria-components/Modal";

/** A modal dialog. Closing it gives the focus back to what had it before. */
export function Dialog({ label, className = "", close, children }: { label: string; className?: string; close: () => void; children: ReactNode }) {
  return (
    <ModalOverlay isOpen isDismissable onOpenChange={(open) => !open && close()} className="overlay">
      <Modal className={`modal ${className}`}>
        <AriaDialog aria-label={label}>{children}</AriaDialog>
      </Modal>
    </ModalOverlay>
  );
}
