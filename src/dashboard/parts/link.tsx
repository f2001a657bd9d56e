import { type ComponentChildren, createContext } from "preact";
import { useContext } from "preact/hooks";
import { routeOf } from "../hash.ts";

/** The addresses of the views that exist. */
export const Routes = createContext<readonly string[]>([]);

/** A link to a view, or to what it shows first (`pathTo` of hash.ts); nothing if there is no such view. */
export function ViewLink(props: { to: string; class?: string; children: ComponentChildren }) {
  if (!useContext(Routes).includes(routeOf(props.to))) return null;
  return (
    <a href={`#/${props.to}`} class={props.class}>
      {props.children}
    </a>
  );
}
