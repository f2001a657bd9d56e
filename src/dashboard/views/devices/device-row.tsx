import { useEffect, useRef } from "preact/hooks";
import type { Device, DeviceList } from "../../../devices/schema.ts";
import { isBlocked, isOutside } from "../../../shared/exits.ts";
import { DIVERTED, exitNow, isNetwork, isNew, isRemote, titleOf } from "../../exit.ts";
import { agoOf, rateOf } from "../../format.ts";
import { say } from "../../language.ts";
import { later } from "../../later.tsx";
import { limitText } from "../../limit.ts";
import { DeviceExit } from "../../parts/device-exit.tsx";
import { Icon } from "../../parts/icon.tsx";
import { ViewLink } from "../../parts/link.tsx";
import { useExits, useIsDiverted } from "../../protection.ts";
import { quotaText } from "../../quota.ts";
import { showDetail, useDetail } from "../../route.ts";
import { useDeviceRate, useNow } from "../../traffic.ts";
import type { Hold } from "./held.ts";
import { DeviceIcon } from "./icon-form.tsx";

const DeviceDetails = later((views) => views.DeviceDetails);

interface DeviceRowProps {
  device: Device;
  list: DeviceList;
  isOwn: boolean;
  hold?: Hold;
  /** While several are being chosen. */
  check?: Check | null;
}

export interface Check {
  isOn: boolean;
  toggle: () => void;
}

/** A sentence: this device goes through this exit. */
export function DeviceRow({ device, list, isOwn, hold, check }: DeviceRowProps) {
  const isOpen = useDetail() === device.id;
  const edit = useRef<HTMLButtonElement>(null);
  useEffect(() => (isOpen ? lookAt(edit.current) : undefined), [isOpen]);
  const setOpen = (open: boolean) => showDetail("devices", open ? device.id : "");
  const exit = exitNow(device, list);
  const isDiverted = useIsDiverted() && !isBlocked(exit);
  const led = useExits()(exit);
  const { icon, tone } = isDiverted ? DIVERTED : led;
  const title = titleOf(device);
  return (
    <li class={`device tone-${tone}`} {...hold}>
      {check && (
        <label class="device-check">
          <span class="hidden">{say("Choose {device}", { device: title })}</span>
          <input type="checkbox" checked={check.isOn} onInput={check.toggle} />
        </label>
      )}
      <div class="device-line">
        <Icon name={icon} />
        <div class="device-who">
          <p>
            <DeviceIcon device={device} /> <strong>{title}</strong>{" "}
            {isOwn && <span class="label own">{say("This device")}</span>}{" "}
            {isNew(device) && !isNetwork(device) && <span class="label new">{say("New")}</span>}{" "}
            {isOutside(exit) && <span class="label direct">{say("Outside every tunnel")}</span>}{" "}
            {device.rate !== undefined && <span class="label limit">{limitText(device.rate)}</span>}{" "}
            {device.quota !== undefined && <span class="label limit">{quotaText(device.quota)}</span>}
          </p>
          <p class="quiet small">
            {addressOf(device)}
            {isRemote(device) && (
              <>
                {" · "}
                <ViewLink to="remote">{say("Away from home")}</ViewLink>
              </>
            )}
          </p>
          {isDiverted && <p class="small">{DIVERTED.text}</p>}
        </div>
        <DeviceExit device={device} list={list} />
        <Activity device={device} />
        <button
          ref={edit}
          type="button"
          class="button plain device-edit"
          aria-expanded={isOpen}
          aria-label={say(isOpen ? "Close {device}" : "Edit {device}", { device: title })}
          onClick={() => setOpen(!isOpen)}
        >
          <Icon name={isOpen ? "close" : "more"} />
          <span>{say(isOpen ? "Close" : "Edit")}</span>
        </button>
      </div>
      {isOpen && <DeviceDetails device={device} list={list} onClose={() => setOpen(false)} />}
    </li>
  );
}

/** Whoever came by a link sees the device, and a keyboard goes on there. Whoever has clicked is there already. */
function lookAt(edit: HTMLElement | null): (() => void) | undefined {
  if (edit === null || edit === document.activeElement) return undefined;
  // After the view itself has taken the focus.
  const timer = setTimeout(() => {
    edit.focus({ preventScroll: true });
    // Not the row with all its details, which can be higher than the screen.
    edit.scrollIntoView({ block: "center" });
  });
  return () => clearTimeout(timer);
}

/** All of its addresses are among the details. */
function addressOf(device: Device): string {
  const { name, addresses, id } = device;
  if (isNetwork(device)) return name === "" ? "" : id;
  const [address] = name === "" && !isRemote(device) ? addresses.slice(1) : addresses;
  return address ?? (isRemote(device) || titleOf(device) === id ? "" : id);
}

/** What it sends and receives now, or when it was heard last. */
function Activity({ device: { id, online, seen_at } }: { device: Device }) {
  if (online) return <Rates id={id} />;
  return (
    <p class="device-activity quiet small">
      {seen_at === null ? say("Not seen since the gateway started") : <Seen at={seen_at} />}
    </p>
  );
}

function Seen({ at }: { at: string }) {
  return <>{say("Seen {ago}", { ago: agoOf(at, useNow()) })}</>;
}

/** What is not carried is left out. */
function Rates({ id }: { id: string }) {
  const rate = useDeviceRate(id);
  if (rate === null) return <p class="device-activity small quiet">…</p>;
  return (
    <p class="device-activity small">
      {rate.rx > 0 && (
        <span class="received">
          <Icon name="down" /> <span class="hidden">{say("receives")}</span> {rateOf(rate.rx)}
        </span>
      )}
      {rate.tx > 0 && (
        <span class="sent">
          <Icon name="up" /> <span class="hidden">{say("sends")}</span> {rateOf(rate.tx)}
        </span>
      )}
    </p>
  );
}
