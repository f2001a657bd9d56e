import type { Part } from "../base/part.ts";
import { causeText } from "../tunnel/quality-verdict.ts";
import type { StateListener } from "../tunnel/state-machine.ts";
import type { AccountParts } from "./account-parts.ts";
import type { InterfaceParts } from "./interface-parts.ts";
import type { NameParts } from "./name-parts.ts";
import type { PortParts } from "./port-parts.ts";
import type { Base, ServerParts } from "./server-parts.ts";
import type { TunnelParts } from "./tunnel-parts.ts";

type Needs = Base & ServerParts & TunnelParts & AccountParts & NameParts & PortParts & InterfaceParts;

/** The lives of all parts, in the order in which they begin. */
export interface Stages {
  /** What the kill switch needs, and what others save into. It ends last, in the reverse order. */
  first: readonly Part[];
  second: readonly Part[];
}

export function stagesOf(parts: Needs): Stages {
  return { first: firstOf(parts), second: secondOf(parts) };
}

function firstOf(parts: Needs): Part[] {
  const { host, store, savedState, operatorSwitch, journal, history, devices, destinations, tunnels } = parts;
  return [
    {
      name: "database",
      run: (signal) => store.keepScrubbed(host, signal),
      close: () => store.flushed(),
    },
    { name: "journal", close: () => journal.write() },
    {
      name: "notifications",
      run: (signal) => notify(parts, signal),
      close: () => parts.notifications.save(),
    },
    { name: "addresses for notifications", run: (signal) => parts.notifications.watch(signal) },
    {
      name: "saved state and kill switch",
      reload: () => operatorSwitch.reload(),
      reloaded: () => operatorSwitch.reloaded(),
      run: (signal) => savedState.keepSaving(host, signal),
    },
    {
      name: "devices and destinations",
      reload: async () => {
        const read = devices.reload();
        // `direct` needs the permission, which the devices read. No client's change may come before either.
        await Promise.all([read, destinations.reload(devices.drained())]);
        await destinations.retry();
      },
      run: (signal) => Promise.all([devices.watch(signal), destinations.watch(signal)]),
    },
    { name: "other routers", run: (signal) => parts.otherRouters.watch(signal) },
    { name: "bounds", run: (signal) => parts.bounds.watch(signal) },
    {
      name: "history",
      run: (signal) => history.watch({ tunnels: () => tunnels.all(), devices }, signal),
      close: () => history.stop(),
    },
  ];
}

function secondOf(parts: Needs): Part[] {
  const { tunnels, catalogue, qualitySettings, fairQueues, accounts, schedules } = parts;
  const { blockLists, dns, forwards, remoteAccess, portMapping, settings } = parts;
  return [
    {
      name: "tunnels",
      reload: () => tunnels.takeUpSaved(),
      run: (signal) => tunnels.watch(signal),
      close: () => tunnels.stop(),
    },
    { name: "servers", reload: () => catalogue.reload() },
    {
      name: "quality",
      reload: () => {
        qualitySettings.reload();
        tunnels.qualityChanged();
      },
    },
    { name: "fair queues", reload: () => fairQueues.reload(), run: (signal) => fairQueues.keep(signal) },
    { name: "account", reload: () => accounts.reload() },
    { name: "block lists", reload: () => blockLists.reload(), run: (signal) => blockLists.watch(signal) },
    { name: "DNS", run: (signal) => dns.watch(signal) },
    {
      name: "remote access",
      reload: () => remoteAccess.reload(),
      run: (signal) => remoteAccess.watch(signal),
    },
    {
      name: "port mapping",
      run: (signal) => (settings.portMapping ? portMapping.watch(signal) : undefined),
    },
    { name: "tokens", run: (signal) => parts.tokens.watch(signal) },
    { name: "claim", run: (signal) => parts.claim.watch(signal) },
    {
      name: "network ports",
      run: (signal) =>
        parts.portFinder.watch(parts.rootCommands, () => tunnels.supervisor.checkNetwork(), signal),
    },
    { name: "access point", run: (signal) => parts.accessPoint.watch(parts.rootCommands, signal) },
    { name: "forwards", reload: () => forwards.reload(), run: (signal) => forwards.watch(signal) },
    { name: "schedules", reload: () => schedules.reload(), run: (signal) => schedules.watch(signal) },
  ];
}

/** The addresses may be in a file, for which nothing waits. */
async function notify({ notifications, alerts, tunnels, host }: Needs, signal: AbortSignal): Promise<void> {
  await notifications.start(signal);
  alerts.follow((payload) => notifications.tell({ type: "security_alert", payload }));
  tunnels.onTunnel(({ name, controller, quality }) => {
    const see: StateListener = (state, error) => notifications.see(name, state, error);
    controller.onChange(see);
    see(controller.state, null);
    quality.quality.onChange(() => tellQuality({ notifications, tunnels, host }, name));
  });
}

/** A tunnel that has ended is neither good nor bad. */
function tellQuality(
  { notifications, tunnels, host }: Pick<Needs, "notifications" | "tunnels" | "host">,
  tunnel: string,
): void {
  const { measured } = tunnels;
  const quality = measured.tunnels.find(({ name }) => name === tunnel)?.quality;
  if (quality === undefined) return;
  const reason = quality.state === "good" ? null : causeText(tunnel, measured);
  const at = new Date(host.now()).toISOString();
  notifications.tell({ type: "quality", payload: { tunnel, ...quality, reason, at } });
}
