import { useId, useState } from "preact/hooks";
import type { Device, DeviceList } from "../../devices/schema.ts";
import { knownOf, useAnswer } from "../answers.ts";
import { exitName, titleOf } from "../exit.ts";
import {
  canSwap,
  choicesAt,
  type Exits,
  exitsFor,
  goneIn,
  lengthened,
  orderFor,
  whatChanges,
} from "../exit-order.ts";
import { faultIn } from "../fault.ts";
import { say } from "../language.ts";
import { useExitOptions, useGivenExits, useIsOpen } from "../protection.ts";
import { Dialog } from "./dialog.tsx";
import { useFaults } from "./faults.ts";
import { FaultText } from "./field.tsx";
import { FormFrame } from "./form-frame.tsx";
import { Icon } from "./icon.tsx";
import { Options } from "./options.tsx";
import { Ordered } from "./ordered.tsx";

interface ExitsInOrderProps {
  device: Device;
  list: DeviceList;
  /** Throws with a sentence for people. */
  save: (order: Exits) => Promise<void>;
  onClose: () => void;
}

/** An exit of the order; `key` stays the same when another one is chosen in its place. */
interface Row {
  key: number;
  exit: string;
}

/** Asks for a device's exits in their order, and says everything that changes before that is saved. */
export function ExitsInOrder({ device, list, save, onClose }: ExitsInOrderProps) {
  const all = exitsFor(list);
  const [rows, setRows] = useState(() => rowsOf(orderFor(device, all), []));
  const title = titleOf(device);
  const order = rows.map(({ exit }) => exit);
  const faults = useFaults((error) => {
    const gone = rows[goneIn(order, all)];
    if (gone === undefined || faultIn(error, ["exit"]) === null) return null;
    return { field: fieldOf(gone), text: say("This tunnel was removed.") };
  });
  const work = async () => {
    await save(order);
    onClose();
  };
  return (
    <Dialog title={say("Exits of {title} in order", { title })} onClose={onClose}>
      <FormFrame faults={faults} work={work} submit={say("Save the order")} doing={say("Saving…")}>
        <p class="quiet">
          {say(
            "If a tunnel fails, the device moves to the next exit that is up. It comes back once a better one has been up for a minute, or longer if it fails often. Each move resets its connections.",
          )}
        </p>
        <Ordered
          label={say("Exits, the best first")}
          rows={rows}
          onRows={setRows}
          keyOf={({ key }) => key}
          nameOf={({ exit }) => exitName(exit)}
          canSwap={(one, other) => canSwap(order, one, other)}
          least={2}
          draw={(row, at) => (
            <ExitChoice
              name={fieldOf(row)}
              label={say("Exit {number}", { number: at + 1 })}
              value={row.exit}
              choices={choicesAt(at, order, all)}
              fault={faults.textFor(fieldOf(row))}
              onValue={(exit) => setRows(rows.with(at, { ...row, exit }))}
            />
          )}
        />
        {order.length < all.length && (
          <button
            type="button"
            class="button ordered-add"
            onClick={() => setRows(rowsOf(lengthened(order, all), rows))}
          >
            <Icon name="add" /> {say("Add an exit")}
          </button>
        )}
        <Changes device={device} list={list} order={order} />
      </FormFrame>
    </Dialog>
  );
}

function fieldOf({ key }: Row): string {
  return `exit-${key}`;
}

interface ExitChoiceProps {
  name: string;
  /** For screen readers. */
  label: string;
  value: string;
  choices: Exits;
  fault: string | null;
  onValue: (exit: string) => void;
}

function ExitChoice({ name, label, value, choices, fault, onValue }: ExitChoiceProps) {
  const optionsOf = useExitOptions();
  const id = useId();
  return (
    <>
      <select
        class="input"
        name={name}
        aria-label={label}
        aria-invalid={fault !== null}
        aria-describedby={fault === null ? undefined : id}
        value={value}
        onChange={({ currentTarget }) => onValue(currentTarget.value)}
      >
        <Options of={optionsOf(choices)} value={value} />
      </select>
      <FaultText id={id} text={fault} />
    </>
  );
}

/** Rows that are there keep their keys. */
function rowsOf(order: Exits, before: readonly Row[]): readonly Row[] {
  const next = Math.max(0, ...before.map(({ key }) => key)) + 1;
  return order.map((exit, at) => before.find((row) => row.exit === exit) ?? { key: next + at, exit });
}

/** What saving does; screen readers hear what is new after each change. */
function Changes({ device, list, order }: { device: Device; list: DeviceList; order: Exits }) {
  const tunnels = knownOf(useAnswer("tunnels"))?.tunnels ?? null;
  const scheduled = useGivenExits();
  const isOpen = useIsOpen();
  return (
    <div class="changes" role="status" aria-atomic="false">
      {whatChanges(device, order, { tunnels, devices: list.devices, scheduled, isOpen }).map((text) => (
        <p key={text}>{text}</p>
      ))}
    </div>
  );
}
