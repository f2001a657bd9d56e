import { useState } from "preact/hooks";
import type { Device, DeviceList } from "../../devices/schema.ts";
import { knownOf, useAnswer } from "../answers.ts";
import { exitName, titleOf } from "../exit.ts";
import {
  canSwap,
  choicesAt,
  type Exits,
  exitsFor,
  lengthened,
  orderFor,
  whatChanges,
} from "../exit-order.ts";
import { say } from "../language.ts";
import { useExits, useGivenExits, useIsOpen } from "../protection.ts";
import { Dialog } from "./dialog.tsx";
import { Form } from "./form.tsx";
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
  const exitOf = useExits();
  const title = titleOf(device);
  const order = rows.map(({ exit }) => exit);
  const work = async () => {
    await save(order);
    onClose();
  };
  return (
    <Dialog title={say("Exits of {title} in order", { title })} onClose={onClose}>
      <Form work={work} submit={say("Save the order")} doing={say("Saving…")}>
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
          draw={({ exit, key }, at) => (
            <select
              class="input"
              aria-label={say("Exit {number}", { number: at + 1 })}
              value={exit}
              onChange={({ currentTarget: { value } }) => setRows(rows.with(at, { key, exit: value }))}
            >
              <Options
                of={choicesAt(at, order, all).map((value) => ({ value, text: exitOf(value).text }))}
                value={exit}
              />
            </select>
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
      </Form>
    </Dialog>
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
