import type { Device, DeviceList } from "../../../devices/schema.ts";
import { isBlocked } from "../../../shared/exits.ts";
import { DIVERTED, exitNow, titleOf, usedUpText } from "../../exit.ts";
import { pathTo } from "../../hash.ts";
import { say } from "../../language.ts";
import { DeviceActions } from "../../parts/device-actions.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Icon } from "../../parts/icon.tsx";
import { ViewLink } from "../../parts/link.tsx";
import { useExits, useIsDiverted } from "../../protection.ts";

/** What becomes of a device now, and what can be done about it. */
export function AboutDevice(props: { device: Device; list: DeviceList; onClose: () => void }) {
  const { device, list, onClose } = props;
  const exit = exitNow(device, list);
  const led = useExits()(exit);
  const { icon, tone, text } = useIsDiverted() && !isBlocked(exit) ? DIVERTED : led;
  return (
    <Dialog title={titleOf(device)} onClose={onClose}>
      <p class={`tone-${tone} about-device`} role="status">
        <Icon name={icon} /> <span>{exit === device.exit ? text : usedUpText()}</span>
      </p>
      <DeviceActions device={device} list={list} />
      <ViewLink to={pathTo("devices", device.id)}>{say("Everything about it")}</ViewLink>
    </Dialog>
  );
}
