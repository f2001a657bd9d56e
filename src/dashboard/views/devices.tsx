import { useState } from "preact/hooks";
import type { Device, DeviceList } from "../../devices/schema.ts";
import { knownOf, useAnswer } from "../answers.ts";
import { isNetwork, isOfMesh } from "../exit.ts";
import { useKept } from "../kept.ts";
import { say } from "../language.ts";
import { Pending } from "../parts/pending.tsx";
import { useExits } from "../protection.ts";
import { useDetail } from "../route.ts";
import { ChosenBar } from "./devices/chosen-bar.tsx";
import { DefaultExit, Direct } from "./devices/default-exit.tsx";
import { type Check, DeviceRow } from "./devices/device-row.tsx";
import { useHeld } from "./devices/held.ts";
import { LanNetworks, useMeshes } from "./devices/lan-networks.tsx";
import { SharedLimit } from "./devices/limit-form.tsx";
import { Networks } from "./devices/networks.tsx";
import { SharedQuota } from "./devices/quota-form.tsx";
import { Search } from "./devices/search.tsx";
import { sectionsOf, TOGETHER, type Together } from "./devices/sections.ts";
import { inOrder, isOfKind, type Kind, matches, type Order } from "./devices/selection.ts";

/** A row for each device: who it is, by which tunnel it leaves, and a choice of another exit. */
export function Devices() {
  const devices = useAnswer("devices");
  const own = knownOf(useAnswer("devices/self"))?.device?.id ?? null;
  return (
    <div class="devices">
      <h1>{say("Devices")}</h1>
      {devices.state === "ready" ? (
        <>
          <Missing list={devices.value} />
          <DefaultExit list={devices.value} />
          <LanNetworks list={devices.value} />
          <Found list={devices.value} own={own} />
          <Networks list={devices.value} />
          <SharedLimit list={devices.value} />
          <SharedQuota list={devices.value} />
          <Direct isAllowed={devices.value.direct_allowed} />
        </>
      ) : (
        <Pending of={devices} />
      )}
    </div>
  );
}

/** A link may lead to a device that was forgotten since. */
function Missing({ list: { devices } }: { list: DeviceList }) {
  const id = useDetail();
  if (id === "" || devices.some((device) => device.id === id)) return null;
  return (
    <p class="outcome failed" role="status">
      {say("The gateway does not know the device {id}, or no longer knows it.", { id })}
    </p>
  );
}

/** Fewer devices than this are seen at a glance. */
const SEARCHED_FROM = 6;
const MANY = 50;

interface FoundProps {
  list: DeviceList;
  /** The device that shows the page, if the gateway knows it. */
  own: string | null;
}

function Found({ list, own }: FoundProps) {
  const [text, setText] = useKept<string>("search", "");
  const [kind, setKind] = useKept<Kind>("kind", "all");
  const { placeOf, holdFor } = useHeld();
  const meshes = useMeshes();
  const all = list.devices.filter((device) => !isNetwork(device) || isOfMesh(device, meshes));
  const [order, setOrder] = useKept<Order>("order", "name", (order) => order in ORDERS);
  const shown = inOrder(
    all.filter((device) => isOfKind(device, kind) && matches(device, text)),
    order,
  );
  // Null while nobody chooses any.
  const [chosen, setChosen] = useState<ReadonlySet<string> | null>(null);
  const [by, setBy] = useKept<Together>("together", "online", (by) => by in TOGETHER);
  const exitOf = useExits();
  const sections = sectionsOf(shown, by, { placeOf, exitText: (exit) => exitOf(exit).text });
  if (all.length === 0)
    return (
      <section class="card">
        <h2>{say("No device has been seen yet")}</h2>
        <p class="quiet">
          {say(
            "A device appears with its first packet. Set a device to use this gateway as its router and resolver.",
          )}
        </p>
      </section>
    );
  return (
    <>
      {all.length >= SEARCHED_FROM && (
        <Search devices={all} text={text} kind={kind} onText={setText} onKind={setKind}>
          <Choice name={say("Group by")} texts={TOGETHER} value={by} onValue={setBy} />
          <Choice name={say("Sort by")} texts={ORDERS} value={order} onValue={setOrder} />
          <button
            type="button"
            class="button"
            aria-pressed={chosen !== null}
            onClick={() => setChosen(chosen === null ? new Set() : null)}
          >
            {say("Choose several")}
          </button>
        </Search>
      )}
      <p class="hidden" role="status">
        {say("{count, plural, one {# device} other {# devices}}", { count: shown.length })}
      </p>
      {shown.length === 0 && <p class="quiet">{say("No device matches.")}</p>}
      {sections.map(({ title, devices }) => (
        <section key={title} class="card">
          <h2>
            {chosen && <CheckAll title={title} of={devices} chosen={chosen} onChosen={setChosen} />}
            {title} <span class="quiet">{devices.length}</span>
          </h2>
          <ul class={`device-rows ${devices.length >= MANY ? "many" : ""}`}>
            {devices.map((device) => (
              <DeviceRow
                key={device.id}
                device={device}
                list={list}
                isOwn={device.id === own}
                hold={holdFor(device)}
                check={chosen && checkFor(device, chosen, setChosen)}
              />
            ))}
          </ul>
        </section>
      ))}
      {chosen && (
        <ChosenBar
          list={list}
          chosen={shown.filter(({ id }) => chosen.has(id))}
          onClose={() => setChosen(null)}
        />
      )}
    </>
  );
}

const ORDERS: Readonly<Record<Order, string>> = {
  name: say("Name"),
  traffic: say("Traffic"),
  seen: say("Last seen"),
};

interface ChoiceProps<Value extends string> {
  name: string;
  texts: Readonly<Record<Value, string>>;
  value: Value;
  onValue: (value: Value) => void;
}

function Choice<Value extends string>({ name, texts, value, onValue }: ChoiceProps<Value>) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset cannot be laid out in a line
    <div role="group" aria-label={name} class="choices grouping">
      <span class="quiet small" aria-hidden="true">
        {name}
      </span>
      {(Object.keys(texts) as Value[]).map((each) => (
        <button
          key={each}
          type="button"
          class="chip"
          aria-pressed={each === value}
          onClick={() => onValue(each)}
        >
          {texts[each]}
        </button>
      ))}
    </div>
  );
}

type Chosen = ReadonlySet<string>;
type Choose = (change: (chosen: Chosen | null) => Chosen | null) => void;

/** Whether a device is chosen, and what a click changes. */
function checkFor({ id }: Device, chosen: Chosen, onChosen: Choose): Check {
  const only = new Set([id]);
  return {
    isOn: chosen.has(id),
    toggle: () => onChosen((now) => now?.symmetricDifference(only) ?? only),
  };
}

interface CheckAllProps {
  title: string;
  of: readonly Device[];
  chosen: Chosen;
  onChosen: Choose;
}

function CheckAll({ title, of, chosen, onChosen }: CheckAllProps) {
  const ids = new Set(of.map(({ id }) => id));
  const isOn = ids.isSubsetOf(chosen);
  return (
    <label class="section-check">
      <span class="hidden">{say("All of {title}", { title })}</span>
      <input
        type="checkbox"
        checked={isOn}
        onInput={() => onChosen(() => (isOn ? chosen.difference(ids) : chosen.union(ids)))}
      />
    </label>
  );
}
