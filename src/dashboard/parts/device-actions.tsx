import { useEffect, useRef, useState } from "preact/hooks";
import type { Device, DeviceList } from "../../devices/schema.ts";
import { MAX_NAME_CHARACTERS } from "../../shared/bounds.ts";
import { exitKindOf, isBlocked } from "../../shared/exits.ts";
import { pauseName } from "../../shared/pauses.ts";
import { type Action, useAction } from "../action.ts";
import { knownOf, refresh, useAnswer } from "../answers.ts";
import { change, pathOf } from "../api.ts";
import { advertisementsOf, withAdvertisementsBlocked, withAdvertisementsOpen } from "../block-lists.ts";
import { titleOf } from "../exit.ts";
import { say } from "../language.ts";
import { pause, pausesAt, resume } from "../pause.ts";
import { useExits, useIsOpen } from "../protection.ts";
import { momentOf, type Schedule, whenOf } from "../schedule.ts";
import { MINUTE_MS, useMinute } from "../traffic.ts";
import { bodyWith } from "../wanted-lists.ts";
import { Button, FormButton, Outcome } from "./button.tsx";
import { devicePath, questionAboutOrder } from "./device-exit.tsx";
import { Form } from "./form.tsx";

interface OfDevice {
  device: Device;
  list: DeviceList;
}

interface Part extends OfDevice {
  title: string;
  action: Action;
}

/** What people want of a device: another country, no internet, none for a while or at night, no advertisements. */
export function DeviceActions({ device, list }: OfDevice) {
  const action = useAction();
  const part = { device, list, title: titleOf(device), action };
  const { schedules = [], time_zone: zone = "" } = knownOf(useAnswer("schedules")) ?? {};
  const running = schedules.find((each) => each.active && each.name === pauseName(device.id));
  return (
    <div class="device-actions">
      {running === undefined && <Countries {...part} />}
      {(running !== undefined || !isBlocked(device.exit)) && <Pause {...{ ...part, pause: running, zone }} />}
      <div class="choices">
        {running === undefined && <Internet {...part} />}
        <AtNight {...part} />
        <Advertisements {...part} />
      </div>
      <Outcome of={action} />
    </div>
  );
}

function save({ device }: OfDevice, exit: string | null): () => Promise<void> {
  return async () => {
    await change("PUT", devicePath(device), { exit });
    await refresh("devices");
  };
}

/** A button for each tunnel that the device does not have. */
function Countries(part: Part) {
  const { device, list, title, action } = part;
  const exitOf = useExits();
  const isOpen = useIsOpen();
  const others = list.exits.filter((exit) => exitKindOf(exit) === "tunnel" && exit !== device.exit);
  if (others.length === 0) return null;
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset cannot be laid out in a line
    <div role="group" aria-label={say("Another country for {device}", { device: title })} class="choices">
      <span class="quiet small" aria-hidden="true">
        {say("Go through")}
      </span>
      {others.map((exit) => {
        const order = device.exit_order;
        const ask = order && questionAboutOrder(device, order, exit, isOpen);
        return (
          <Button
            key={exit}
            action={action}
            doing={say("Saving…")}
            work={save(part, exit)}
            {...(ask && { ask })}
          >
            {exitOf(exit).text}
          </Button>
        );
      })}
    </div>
  );
}

function Internet(part: Part) {
  const { device, list, action } = part;
  const isOpen = useIsOpen();
  const order = device.exit_order;
  const isStopped = isBlocked(device.exit);
  if (isStopped && (!device.assigned || isBlocked(list.default_exit))) return null;
  const ask = !isStopped && order && questionAboutOrder(device, order, "blocked", isOpen);
  return (
    <Button
      action={action}
      doing={say("Saving…")}
      work={save(part, isStopped ? null : "blocked")}
      {...(ask && { ask })}
    >
      {say(isStopped ? "Internet again, by the default exit" : "No internet")}
    </Button>
  );
}

/** No internet for a while; or what ends that. */
function Pause(props: Part & { pause: Schedule | undefined; zone: string }) {
  const { device, action, pause: running, zone } = props;
  const now = useMinute() * MINUTE_MS;
  const andShow = (work: Promise<void>) => work.then(() => refresh("schedules"));
  if (running !== undefined)
    return (
      <div class="choices">
        <span>{say("Paused until {moment}.", { moment: momentOf(running.next_at, zone, now) })}</span>
        <Button action={action} doing={say("Ending the pause…")} work={() => andShow(resume(device))}>
          {say("Resume")}
        </Button>
      </div>
    );
  return (
    <div class="choices">
      {pausesAt(now, zone).map(({ once, text }) => (
        <Button key={text} action={action} doing={say("Pausing…")} work={() => andShow(pause(device, once))}>
          {text}
        </Button>
      ))}
    </div>
  );
}

const NIGHT = { at: "21:00", until: "07:00" };

/** A schedule that blocks the device each night; or what ends it. */
function AtNight(part: Part) {
  const { device, action } = part;
  const [isOpen, setOpen] = useState(false);
  const schedules = knownOf(useAnswer("schedules"))?.schedules;
  if (schedules === undefined) return null;
  const own = schedules.find(
    (each) => each.device === device.id && each.once === undefined && isBlocked(each.exit ?? null),
  );
  const end = async (name: string) => {
    await change("DELETE", pathOf("schedules", name));
    await refresh("schedules");
  };
  if (own !== undefined)
    return (
      <Button action={action} doing={say("Removing…")} work={() => end(own.name)}>
        {say("No longer blocked {when}", { when: whenOf(own) })}
      </Button>
    );
  const taken = schedules.map(({ name }) => name);
  return isOpen ? (
    <NightForm {...part} taken={taken} onClose={() => setOpen(false)} />
  ) : (
    <FormButton open={() => setOpen(true)}>{say("No internet at night…")}</FormButton>
  );
}

function NightForm(props: Part & { taken: readonly string[]; onClose: () => void }) {
  const { device, title, action, taken, onClose } = props;
  const form = useRef<HTMLDivElement>(null);
  // It takes the place of the button that opened it.
  useEffect(() => form.current?.querySelector("input")?.focus(), []);
  return (
    <div class="night" ref={form}>
      <Form
        of="schedule"
        rows={{
          at: { label: say("From"), type: "time", value: NIGHT.at, required: true },
          until: { label: say("Until"), type: "time", value: NIGHT.until, required: true },
        }}
        work={async ({ at, until }) => {
          const path = pathOf("schedules", freeName(title, taken));
          await change("PUT", path, { device: device.id, exit: "blocked", at, until });
          await refresh("schedules");
          onClose();
        }}
        submit={say("Block it at night")}
        doing={say("Saving…")}
        action={action}
      />
    </div>
  );
}

/** A slash cannot be in an address, and a schedule of this name would be replaced. */
function freeName(title: string, taken: readonly string[]): string {
  const wanted = say("{device} at night", { device: title.replaceAll("/", "-") });
  const names = [wanted, ...taken.map((_, at) => `${at + 2} ${wanted}`)].map((each) =>
    [...each].slice(0, MAX_NAME_CHARACTERS).join("").trim(),
  );
  return names.find((each) => !taken.includes(each)) ?? wanted;
}

/** One list of names for this device; for all of them, Rules has it. */
function Advertisements({ device, action }: Part) {
  const lists = knownOf(useAnswer("dns/lists"));
  if (lists === null) return null;
  const state = advertisementsOf(lists.lists, device.id);
  if (state === "all") return null;
  const isOn = state === "own";
  const work = async () => {
    const wanted = (isOn ? withAdvertisementsOpen : withAdvertisementsBlocked)(lists.lists, device.id);
    await change("PUT", "dns/lists", bodyWith(lists, { lists: wanted }));
    await refresh("dns/lists");
    return isOn ? undefined : say("The list is fetched through the tunnel.");
  };
  return (
    <Button action={action} doing={say("Saving…")} work={work}>
      {say(isOn ? "Allow advertisements" : "Block advertisements")}
    </Button>
  );
}
