import type { ComponentChildren } from "preact";
import { formatted } from "../language.ts";

interface SayProps {
  /** As for `say`; what is between `<strong>`, `<em>` and `<code>` is such an element. */
  message: string;
  /** Texts and elements by name; for a tag of another name, a function that makes the element of what is in it. */
  parts?: Readonly<Record<string, ComponentChildren | ((inner: ComponentChildren) => ComponentChildren)>>;
}

/**
 * A message with elements in it:
 *
 *     <Say message="Type {command} on the gateway." parts={{ command: <code>portcullis check</code> }} />
 */
export function Say({ message, parts }: SayProps) {
  return <>{formatted<ComponentChildren>(message, { ...TAGS, ...parts })}</>;
}

const TAGS = {
  strong: (inner: ComponentChildren) => <strong>{inner}</strong>,
  em: (inner: ComponentChildren) => <em>{inner}</em>,
  code: (inner: ComponentChildren) => <code>{inner}</code>,
};
