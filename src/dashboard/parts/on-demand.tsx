import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { FormButton } from "./button.tsx";

interface OnDemandProps {
  text: string;
  /** Whose form it is, where several have one. */
  of?: string;
  children: ComponentChildren;
}

/** A form that is there once somebody asks for it; its first field has the focus then. */
export function OnDemand({ text, of, children }: OnDemandProps) {
  const [isOpen, setOpen] = useState(false);
  const form = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (isOpen) form.current?.querySelector<HTMLElement>("input, select")?.focus();
  }, [isOpen]);
  if (isOpen) return <div ref={form}>{children}</div>;
  return (
    <FormButton {...(of !== undefined && { label: `${text} ${of}` })} open={() => setOpen(true)}>
      {text}
    </FormButton>
  );
}
