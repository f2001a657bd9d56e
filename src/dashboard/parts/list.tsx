import type { ComponentChildren } from "preact";
import type { Loaded } from "../store.ts";
import { Pending } from "./pending.tsx";

/** What needs an answer of the gateway, once it is there. */
export function Ready<T>({ of, children }: { of: Loaded<T>; children: (value: T) => ComponentChildren }) {
  return of.state === "ready" ? <>{children(of.value)}</> : <Pending of={of} />;
}

interface ListProps<T> {
  of: readonly T[];
  /** A row. */
  children: (one: T) => ComponentChildren;
}

/** A list on a card of its own, or what there could be and how it begins. */
export function ListCard<T>(
  props: ListProps<T> & {
    title: string;
    /** What is said above the list. */
    about?: ComponentChildren;
    empty: { title: string; text: string };
  },
) {
  const { of, title, about, empty } = props;
  if (of.length === 0)
    return (
      <section class="card">
        <h2>{empty.title}</h2>
        <p class="quiet">{empty.text}</p>
      </section>
    );
  return (
    <section class="card">
      <h2>
        {title} <span class="quiet">{of.length}</span>
      </h2>
      {about && <p class="quiet">{about}</p>}
      <List of={of}>{props.children}</List>
    </section>
  );
}

/** The rows of a list; nothing if it is empty. */
export function List<T>({ of, children }: ListProps<T>) {
  return of.length === 0 ? null : <ul class="items">{of.map(children)}</ul>;
}

interface TableProps {
  heads: readonly string[];
  rows: readonly (readonly ComponentChildren[])[];
  /** The column that names the row. */
  named?: number;
}

export function Table({ heads, rows, named = 0 }: TableProps) {
  return (
    <table>
      <thead>
        <tr>
          {heads.map((head) => (
            <th key={head} scope="col">
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((cells, at) => (
          <tr key={at}>
            {cells.map((cell, column) =>
              column === named ? (
                <th key={column} scope="row">
                  {cell}
                </th>
              ) : (
                <td key={column}>{cell}</td>
              ),
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
