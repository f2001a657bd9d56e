import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { say } from "../language.ts";
import { Icon } from "./icon.tsx";

interface OrderedProps<Row> {
  /** For screen readers. */
  label: string;
  rows: readonly Row[];
  /** The new rows after a move or a removal. */
  onRows: (rows: readonly Row[]) => void;
  /** Stays with the row wherever it goes. */
  keyOf: (row: Row) => number;
  nameOf: (row: Row, at: number) => string;
  /** What is chosen or typed in a row. */
  draw: (row: Row, at: number) => ComponentChildren;
  /** Whether the rows at two places can change them. */
  canSwap?: (one: number, other: number) => boolean;
  /** A row of so few cannot be removed. */
  least: number;
}

/** Where the focus is to be once the rows are drawn again. */
interface Wanted {
  at: number;
  selector: string;
}

/** Rows in a person's order, each with buttons that move it up or down, or remove it. */
export function Ordered<Row>({ rows, onRows, least, ...props }: OrderedProps<Row>) {
  const list = useRef<HTMLOListElement>(null);
  const wanted = useRef<Wanted | null>(null);
  // A row that moves or goes takes the focus with it. Its button may be pressed again, and a new row is to be filled.
  const count = useRef(rows.length);
  useLayoutEffect(() => {
    const { at, selector } =
      wanted.current ??
      (rows.length > count.current ? { at: newest(rows, props.keyOf), selector: FIELD } : NOWHERE);
    count.current = rows.length;
    wanted.current = null;
    list.current?.children[at]?.querySelector<HTMLElement>(selector)?.focus();
  }, [rows]);
  const canSwap = (one: number, other: number) =>
    [one, other].every((at) => at >= 0 && at < rows.length) && (props.canSwap?.(one, other) ?? true);
  const swap = (from: number, to: number, selector: string) => {
    if (!canSwap(from, to)) return;
    wanted.current = { at: to, selector };
    onRows(rows.with(from, rows[to] as Row).with(to, rows[from] as Row));
  };
  const remove = (at: number) => {
    if (rows.length <= least) return;
    wanted.current = { at: Math.min(at, rows.length - 2), selector: FIELD };
    onRows(rows.toSpliced(at, 1));
  };
  return (
    <ol ref={list} class="ordered" aria-label={props.label}>
      {rows.map((row, at) => {
        const name = props.nameOf(row, at);
        return (
          <li key={props.keyOf(row)} class="ordered-row">
            <span class="ordered-place quiet" aria-hidden="true">
              {at + 1}
            </span>
            <div class="ordered-field">{props.draw(row, at)}</div>
            <div class="ordered-buttons">
              <Move
                icon="up"
                label={say("Move {name} up", { name })}
                isIdle={!canSwap(at, at - 1)}
                work={() => swap(at, at - 1, UP)}
              />
              <Move
                icon="down"
                label={say("Move {name} down", { name })}
                isIdle={!canSwap(at, at + 1)}
                work={() => swap(at, at + 1, DOWN)}
              />
              <Move
                icon="close"
                label={say("Remove {name}", { name })}
                isIdle={rows.length <= least}
                work={() => remove(at)}
              />
            </div>
          </li>
        );
      })}
    </ol>
  );
}

const FIELD = "select, input";
const UP = ".button:has(.icon-up)";
const DOWN = ".button:has(.icon-down)";
const NOWHERE: Wanted = { at: -1, selector: FIELD };

/** The place of the row that came last: keys are counted up. */
function newest<Row>(rows: readonly Row[], keyOf: (row: Row) => number): number {
  const keys = rows.map(keyOf);
  return keys.indexOf(Math.max(...keys));
}

interface MoveProps {
  icon: "up" | "down" | "close";
  label: string;
  /** Not `disabled`, which would take the focus away. */
  isIdle: boolean;
  work: () => void;
}

function Move({ icon, label, isIdle, work }: MoveProps) {
  return (
    <button type="button" class="button plain" aria-label={label} aria-disabled={isIdle} onClick={work}>
      <Icon name={icon} />
    </button>
  );
}
