import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { FormButton } from "./button.tsx";

/** A form that is there once somebody asks for it. */
export function OnDemand({ text, children }: { text: string; children: ComponentChildren }) {
  const [isOpen, setOpen] = useState(false);
  return isOpen ? <>{children}</> : <FormButton open={() => setOpen(true)}>{text}</FormButton>;
}
