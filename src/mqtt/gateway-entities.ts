import type { SecurityAlert } from "../base/alert.ts";
import { answerOf } from "../base/fact.ts";
import { LIMIT_FACTS } from "../devices/limit-facts.ts";
import type { DeviceList } from "../devices/schema.ts";
import type { UsedQuota } from "../devices/values.ts";
import type { BlockLists } from "../dns/block-lists.ts";
import type { DeviceCount } from "../dns/device-counts.ts";
import { DNS_FACTS } from "../dns/facts.ts";
import { isOutside } from "../shared/exits.ts";
import { GATEWAY_FACTS } from "../tunnel/gateway-facts.ts";
import type { Status } from "../tunnel/schema.ts";
import {
  type Component,
  componentsIn,
  componentsOf,
  type HaDevice,
  presentIn,
  stateOf,
} from "./discovery.ts";
import { exitComponents } from "./exit.ts";
import { qualityComponents, qualityOf } from "./quality-entities.ts";
import { GATEWAY } from "./topics.ts";

const { killswitch_active, ...OTHERS } = GATEWAY_FACTS;

const COMPONENTS: Record<string, Component> = {
  ...componentsOf({ killswitch_active }),
  problem: {
    platform: "binary_sensor",
    name: "Protection",
    device_class: "problem",
    value_template: "{{ 'ON' if value_json.problem else 'OFF' }}",
    attributes: true,
  },
  alert: {
    platform: "sensor",
    from: "alert",
    name: "Last alert",
    value_template: "{{ value_json.code }}",
    attributes: true,
    icon: "mdi:shield-alert",
  },
  ...componentsOf(OTHERS),
  ...qualityComponents("Uplink", "uplink"),
};

/** What pauses the lists of blocked names; Home Assistant has none while there is no list, or it may not command. */
function blockListsFor(isShown: boolean): Record<string, Component> {
  if (!isShown) return { block_lists: { platform: "switch", absent: true } };
  return {
    block_lists: {
      platform: "switch",
      name: "Block lists",
      command: "block_lists",
      value_template: "{{ 'ON' if value_json.block_lists else 'OFF' }}",
      icon: "mdi:playlist-remove",
    },
  };
}

/** The entities of the whole gateway. */
export interface GatewayState {
  status: Status;
  /** Why the protection does not work as promised; null if it does. */
  problem: string | null;
  alert: SecurityAlert | null;
  devices: Pick<DeviceList, "default_exit" | "exits" | "shared_rate">;
  blockLists: Pick<BlockLists, "isThere" | "pausedUntilText">;
}

/** `quota` is the shared one, as it is told now. */
export function gatewayThing(
  { status, problem, alert, devices, blockLists }: GatewayState,
  quota: UsedQuota | undefined,
  dns: DeviceCount | null,
  commands: boolean,
): HaDevice {
  const { default_exit, exits, shared_rate } = devices;
  const limits = answerOf(LIMIT_FACTS, { rate: shared_rate, quota });
  const had = presentIn(LIMIT_FACTS, limits);
  const { kill_switch, ...facts } = stateOf(GATEWAY_FACTS, status);
  // The exit direct cannot be the default.
  const options = exits.filter((exit) => !isOutside(exit));
  return {
    key: GATEWAY,
    name: "Portcullis",
    model: "WireGuard VPN gateway",
    components: {
      ...COMPONENTS,
      ...exitComponents("Default exit", commands ? options : null),
      ...blockListsFor(commands && blockLists.isThere),
      ...componentsIn(LIMIT_FACTS, limits, "Shared"),
      ...componentsIn(DNS_FACTS, { ...dns }),
    },
    states: {
      state: {
        ...{ kill_switch, problem, ...facts },
        exit: default_exit,
        ...stateOf(had, limits),
        ...(blockLists.isThere && { block_lists: blockLists.pausedUntilText === null }),
      },
      alert: alert ?? { code: null },
      uplink: { quality: qualityOf(status.uplink_quality) },
      ...(quota !== undefined && { quota: stateOf(had, limits, "quota") }),
      ...(dns !== null && { dns: stateOf(DNS_FACTS, { ...dns }, "dns") }),
    },
  };
}
