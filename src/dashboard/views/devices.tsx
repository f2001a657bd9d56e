import type { DeviceList } from "../../devices/schema.ts";
import { knownOf, useAnswer } from "../answers.ts";
import { isNetwork } from "../exit.ts";
import { useKept } from "../kept.ts";
import { say } from "../language.ts";
import { Pending } from "../parts/pending.tsx";
import { useExits } from "../protection.ts";
import { useDetail } from "../route.ts";
import { DefaultExit, Direct } from "./devices/default-exit.tsx";
import { DeviceRow } from "./devices/device-row.tsx";
import { useHeld } from "./devices/held.ts";
import { SharedLimit } from "./devices/limit-form.tsx";
import { Networks } from "./devices/networks.tsx";
import { SharedQuota } from "./devices/quota-form.tsx";
import { Search } from "./devices/search.tsx";
import { sectionsOf, TOGETHER, type Together } from "./devices/sections.ts";
import { inOrder, isOfKind, type Kind, matches } from "./devices/selection.ts";

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
  const all = list.devices.filter((device) => !isNetwork(device));
  const shown = inOrder(all.filter((device) => isOfKind(device, kind) && matches(device, text)));
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
          <Grouping by={by} onBy={setBy} />
        </Search>
      )}
      <p class="hidden" role="status">
        {say("{count, plural, one {# device} other {# devices}}", { count: shown.length })}
      </p>
      {shown.length === 0 && <p class="quiet">{say("No device matches.")}</p>}
      {sections.map(({ title, devices }) => (
        <section key={title} class="card">
          <h2>
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
              />
            ))}
          </ul>
        </section>
      ))}
    </>
  );
}

function Grouping({ by, onBy }: { by: Together; onBy: (by: Together) => void }) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset cannot be laid out in a line
    <div role="group" aria-label={say("Group by")} class="choices grouping">
      <span class="quiet small" aria-hidden="true">
        {say("Group by")}
      </span>
      {(Object.keys(TOGETHER) as Together[]).map((each) => (
        <button key={each} type="button" class="chip" aria-pressed={each === by} onClick={() => onBy(each)}>
          {TOGETHER[each]}
        </button>
      ))}
    </div>
  );
}
