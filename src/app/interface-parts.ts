import { hostname } from "node:os";
import { Pairing } from "../access/pairing.ts";
import { Passphrases } from "../access/passphrases.ts";
import { Ports } from "../access/ports.ts";
import { Tokens } from "../access/tokens.ts";
import { LANGUAGE } from "../base/language.ts";
import { voiceIn } from "../base/voice.ts";
import { Https } from "../certificates/https.ts";
import { Checkup } from "../checks/checkup.ts";
import { readNetworks } from "../devices/network-record.ts";
import { exitResolvers } from "../dns/exit-resolvers.ts";
import { MqttStatus } from "../mqtt/status.ts";
import { Notifications } from "../notifications/notifications.ts";
import { lookUpInside } from "../speed/look-up.ts";
import { SpeedTests } from "../speed/speed-tests.ts";
import { RootCommands } from "../system/root-commands.ts";
import { Overview } from "../tunnel/overview.ts";
import type { NameParts } from "./name-parts.ts";
import type { PortParts } from "./port-parts.ts";
import { publishChanges } from "./publisher.ts";
import type { Base, ServerParts } from "./server-parts.ts";
import type { TunnelParts } from "./tunnel-parts.ts";

type Needs = Base & ServerParts & TunnelParts & NameParts & PortParts;
export type InterfaceParts = ReturnType<typeof interfacePartsOn>;

/** What people and other programs see of the gateway. */
export function interfacePartsOn(needs: Needs) {
  const { host, settings, store, events, alerts } = needs;
  const tokens = new Tokens(store, host);
  tokens.onChange((change) => alerts.raise("access_changed", change));
  const https = new Https(settings.https, settings.httpsCert === null);
  const overview = new Overview(needs);
  publishChanges({ ...needs, overview });
  const pairing = new Pairing(host, (by) => alerts.raise("owner_refused", { what: "codes", by }));
  const passphrases = new Passphrases(host, tokens, ({ name }) =>
    alerts.raise("owner_refused", { what: "passphrase", token: name }),
  );
  return {
    tokens,
    pairing,
    passphrases,
    rootCommands: new RootCommands(host, settings.stateDir),
    ports: new Ports({
      ...{ host, settings, hostname: hostname() },
      hasPage: (link) => readNetworks(store)?.get(link)?.page !== false,
    }),
    https,
    overview,
    mqtt: new MqttStatus(settings, events),
    notifications: notificationsOn(needs, overview),
    speedTests: speedTestsOn(needs),
    checkup: new Checkup({ ...needs, tokens, https }),
  };
}

function notificationsOn(
  { host, settings, store, tunnels, alerts, log }: Needs,
  overview: Overview,
): Notifications {
  const { httpsClient } = tunnels;
  return new Notifications({
    ...{ host, store, log, hostname: hostname(), addresses: settings.notify },
    send: httpsClient.sendWithin,
    isOpenTo: (target) => httpsClient.isOpenTo(target),
    headline: async () => (await overview.verdict(voiceIn(LANGUAGE.read(store))))?.title ?? null,
    onChange: (change) => alerts.raise("notifications_changed", change),
  });
}

function speedTestsOn(needs: Needs): SpeedTests {
  const { tunnels, upstream } = needs;
  return new SpeedTests({
    ...needs,
    lookUp: (name, tunnel) =>
      lookUpInside(name, exitResolvers({ to: "tunnel", name: tunnel }, tunnels), upstream),
  });
}
