import { isIP } from "node:net";
import { hostname } from "node:os";
import { PAIRING_MINUTES } from "../access/pairing.ts";
import { type Address, type Prefix, prefixOf } from "../base/address.ts";
import { CommandError, messageOf } from "../base/errors.ts";
import { closeAll, lasting, type Part, runAll } from "../base/part.ts";
import { nextTurn } from "../base/queue.ts";
import { addressIn, localUrl, type Settings } from "../base/settings.ts";
import { withdrawDirect } from "../destinations/withdraw-direct.ts";
import { watchDhcpConfig } from "../dhcp/config-watch.ts";
import { RouteAdvertiser } from "../dhcp/route-advertiser.ts";
import { retireAddresses } from "../dhcp/withdraw-prefixes.ts";
import { type App, createApp, listen } from "../http/app.ts";
import { Gate } from "../http/gate.ts";
import { Peers } from "../http/peers.ts";
import { type Ipv6, lanText } from "../network/host-network.ts";
import { ownHostIn } from "../network/own.ts";
import { answerOperator, type OperatorAnswers, type PairingCode } from "../operator/operator.ts";
import type { HttpsRequest, PinnedRequest } from "../system/host.ts";
import { setupCommand } from "../system/layout.ts";
import { carriedBy } from "../tunnel/state.ts";
import type { Parts } from "./parts.ts";
import { privateNames } from "./private-names.ts";

/** Work in progress ends within milliseconds; systemd waits for 90 s. */
const STOP_WITHIN_MS = 5_000;
/** People wait for an address that comes with a cable. */
const LISTEN_AGAIN_MS = 1_000;
/** By then every client that waited for the start has asked. */
const WATCH_AFTER_MS = 20;
/** For this long, what it has asked of the kernel comes first. */
const ASKED_FIRST_MS = 100;
/** By then every client that waited for the start has its answer: a long list takes the processor for 0.1 s. */
const READ_LIST_AFTER_MS = 1_000;

/** By then the kernel has the addresses of this start. */
const RETIRE_AFTER_MS = 2_000;

export interface Service {
  port: number;
  /** Stops answering; the kernel's state stays as it is. */
  stop(): Promise<void>;
}

/** The HTTP interface to a gateway, which does not listen yet. */
export function appFor(parts: Parts): App {
  const { settings, host, killSwitch, log } = parts;
  const peers = new Peers(host);
  return createApp(
    { ...parts, hostname: hostname() },
    {
      names: [hostname(), ...settings.name],
      lan: () => servedBy(parts),
      interfaces: () => killSwitch.served.map((lan) => lan.interface),
      interfaceOf: (address, port) => peers.interfaceOf(address, port),
      gluetun: settings.gluetunRoutes,
      https: settings.https,
      gate: new Gate(settings.auth, parts.tokens),
      clock: host,
      log: (method, path, status, ms) => log.debug(`${method} ${path} ${status} ${ms.toFixed(1)} ms`),
      fault: (message) => log.error(message),
      saved: () => parts.store.flushed(),
    },
  );
}

/** The networks of the LAN that may use the page, and the remote devices that may reach it. */
function servedBy({ killSwitch }: Parts): Prefix[] {
  const remote = killSwitch.remote?.devices.filter(({ lan }) => lan) ?? [];
  return [
    ...killSwitch.served.flatMap((lan) => lan.prefixes),
    ...remote.flatMap(({ addresses }) => addresses).map(prefixOf),
  ];
}

/** Answers for a gateway whose kill switch is in place. */
export function answer(parts: Parts, app: App): Service {
  const { settings, controller, tokens, log } = parts;
  if (controller.network.lans.length === 0)
    log.warn("no LAN interface has a private address: only this machine can reach the gateway");
  else log.info(`LAN: ${lanText(parts.killSwitch.network, settings)}`);
  parts.store.writeBehind();
  const operator = answerOperator(settings.stateDir, onceSaved(answersOf(parts, app), parts.store), {
    clock: parts.host,
    log,
  });
  for (const damage of parts.damages) parts.alerts.raise("state_damaged", damage);
  parts.store.alertTold();
  if (settings.auth !== "off" && tokens.list().length === 0)
    log.warn("there is no token yet; make one for each client: sudo portcullis token add <name>");
  parts.savedState.save();
  const stopping = new AbortController();
  const http = listenWhenThere(app, parts, stopping.signal);
  const killSwitch = parts.killSwitch.isWanted ? "is in place" : "was turned off by command";
  log.info(`Portcullis answers on port ${http.port}; the kill switch ${killSwitch}`);
  const own = ownParts(parts, app);
  void begin([...parts.stages.first, ...parts.stages.second, ...own], parts, stopping.signal);
  return {
    port: http.port,
    stop: async () => {
      stopping.abort();
      await endSoon([...parts.stages.second, ...own], parts);
      for (const part of parts.stages.first.toReversed()) await endSoon([part], parts);
      operator.stop();
      await http.stop();
    },
  };
}

interface Beginning extends Pick<Parts, "host" | "failing"> {
  killSwitch: Pick<Parts["killSwitch"], "settled">;
  log: Pick<Parts["log"], "error">;
}

/** The programs that report events take some milliseconds to start, and an answer about the kernel has programs of its own. */
export async function begin(
  all: readonly Part[],
  { host, killSwitch, failing, log }: Beginning,
  signal: AbortSignal,
): Promise<void> {
  await host.sleep(WATCH_AFTER_MS, signal);
  await Promise.race([killSwitch.settled().then(nextTurn), host.sleep(ASKED_FIRST_MS, signal)]);
  runAll(all, { clock: host, signal, failing, report: (fault) => log.error(fault) });
}

async function endSoon(all: readonly Part[], { host }: Parts): Promise<void> {
  await Promise.race([closeAll(all), host.sleep(STOP_WITHIN_MS)]);
}

/** Those of a service only. */
function ownParts(parts: Parts, app: App): Part[] {
  const { controller } = parts;
  const onNetwork = { ...parts, network: () => controller.network };
  return [
    { name: "DHCP configuration", run: (signal) => watchDhcpConfig(onNetwork, signal) },
    { name: "route advertiser", run: (signal) => new RouteAdvertiser(onNetwork).watch(signal) },
    { name: "former addresses", run: (signal) => retireFormer(parts, signal) },
    { name: "list of servers", run: (signal) => reportList(parts, signal) },
    { name: "updates of the list", run: () => keepFresh(parts) },
    lasting("MQTT", (signal) => showToHomeAssistant(parts, signal)),
    lasting("HTTPS", (signal) => offerHttps(parts, app, signal)),
  ];
}

/** Fetches the list of servers through the first tunnel, and each day. */
function keepFresh({ controller, updates, httpsClient }: Parts): void {
  const look = () => updates.tunnelIs(controller.state.name === "connected", httpsClient.sendInside);
  controller.onChange(look);
  look();
}

/** Settings change between two starts only. */
async function retireFormer({ controller, settings, host, log }: Parts, signal: AbortSignal): Promise<void> {
  await host.sleep(RETIRE_AFTER_MS, signal);
  if (signal.aborted) return;
  await retireAddresses(host, controller.network, settings).catch((error: unknown) =>
    log.warn(`an IPv6 address of the LAN that is no longer used could not be removed: ${messageOf(error)}`),
  );
}

/** Loads what that needs only if it is on. Scripts that wait for HTTP do not wait for it. */
async function offerHttps(parts: Parts, app: App, signal: AbortSignal): Promise<void> {
  const { settings, https, log } = parts;
  if (settings.https === null) return;
  try {
    const { serveHttps } = await import("./https.ts");
    await serveHttps(parts, app, settings.https, signal);
  } catch (error) {
    https.fails(messageOf(error), false);
    log.error(`HTTPS: ${messageOf(error)}`);
  }
}

/** Loads what that needs only if there is a broker. */
async function showToHomeAssistant(parts: Parts, signal: AbortSignal): Promise<void> {
  const { settings, killSwitch, httpsClient, log } = parts;
  const { mqtt } = settings;
  if (mqtt === null) return;
  const { runBridge } = await import("../mqtt/start.ts");
  const deps = {
    ...parts,
    ...{ gateway: parts, status: parts.mqtt, settings: { ...settings, mqtt }, hostname: hostname() },
    lans: () => killSwitch.lans.flatMap((lan) => lan.prefixes),
    tunnelTo: (address: Address) => httpsClient.ownAddressTo(address),
  };
  try {
    await runBridge(deps, signal);
  } catch (error) {
    parts.mqtt.is(messageOf(error));
    log.error(`MQTT: ${messageOf(error)}`);
  }
}

/** Reads the managed provider's list, unless that was needed before, and says what is wrong with it. */
async function reportList(
  { catalogue, updates, alerts, host, log }: Parts,
  signal: AbortSignal,
): Promise<void> {
  await host.sleep(READ_LIST_AFTER_MS, signal);
  if (signal.aborted) return;
  const { managed } = catalogue;
  if (managed.alert !== null) alerts.raise("list_damaged", { reason: managed.alert });
  if (updates.isFetched && managed.listed().length === 0)
    log.info(
      "the VPN account has no servers yet; their list is fetched through the first tunnel, or by: sudo portcullis servers update",
    );
  // The text of a long list takes twice the memory of the list itself, which a Pi needs for other things.
  Bun.gc(true);
}

/** Answers once the change of a command is on the disk. */
function onceSaved(answers: OperatorAnswers, store: Pick<Parts["store"], "flushed">): OperatorAnswers {
  const waiting = Object.entries(answers).map(([name, answer]) => [
    name,
    async (given: never) => {
      const result = await (answer as (given: never) => Promise<unknown>)(given);
      await store.flushed();
      return result;
    },
  ]);
  return Object.fromEntries(waiting) as OperatorAnswers;
}

function answersOf(parts: Parts, app: App): OperatorAnswers {
  const { updates, httpsClient, liveBackup: backup } = parts;
  return {
    ...guardAnswers(parts),
    ...accountAnswers(parts),
    ...tokenAnswers(parts, app),
    queries: async () => parts.queryLog.shown(),
    "queries/on": async () => {
      parts.queryLog.start();
      return parts.queryLog.shown();
    },
    "queries/off": async () => {
      parts.queryLog.stop();
      return parts.queryLog.shown();
    },
    network: async () => {
      await parts.tunnels.supervisor.checkNetwork();
      return null;
    },
    https: async () => {
      await parts.https.started;
      return parts.https.status();
    },
    report: async () => {
      const checks = await parts.checkup.results();
      // The checks name devices with forwarded ports, also by names that they have told themselves.
      const forwarded = (await parts.forwards.list()).map(({ name }) => name);
      return { checks, names: [...privateNames(parts), ...forwarded.filter((name) => name !== "")] };
    },
    backup: async () => backup.take(),
    "restore/preview": async ({ contents, may }) => (await backup.plan(contents, may)).changes,
    restore: ({ contents, may }) => backup.restore(contents, may),
    "servers/update": (options) => updates.update(httpsClient.send, options),
    "notify/test": () => parts.notifications.test(),
    "update/pin": (request) => pinRelease(parts, request),
  };
}

type Answers<Names extends string> = {
  [Name in keyof OperatorAnswers as Extract<Name, Names>]: OperatorAnswers[Name];
};

/** What only root may allow, out or in. */
function guardAnswers({
  operatorSwitch,
  tunnels,
  devices,
  destinations,
  remoteAccess,
}: Parts): Answers<`killswitch${string}` | `direct${string}` | `remote/${string}`> {
  const turn = async (wanted: boolean) => {
    await operatorSwitch.turn(wanted);
    return null;
  };
  return {
    killswitch: () => tunnels.protection.inspection(),
    "killswitch/on": () => turn(true),
    "killswitch/off": () => turn(false),
    direct: async () => devices.direct,
    "direct/on": () => devices.setDirect(true),
    "direct/off": () => withdrawDirect({ devices, destinations }),
    "remote/on": (choice) => remoteAccess.turnOn(choice),
    "remote/off": () => remoteAccess.turnOff(),
  };
}

function accountAnswers({ accounts }: Parts): Answers<`account${string}`> {
  return {
    account: ({ provider }) => accounts.show(provider),
    "account/login": ({ provider, credentials }) => accounts.logIn(provider, credentials),
    "account/logout": ({ provider, forget }) => accounts.logOut(provider, forget),
    "account/rotate-key": ({ provider }) => accounts.rotateKey(provider),
  };
}

function tokenAnswers(parts: Parts, { servers }: App): Answers<`token${string}` | "pair"> {
  const { settings, tokens } = parts;
  return {
    pair: () => newCode(parts),
    token: async () => ({ auth: settings.auth, tokens: tokens.list() }),
    "token/add": async ({ name, readOnly }) => ({
      auth: settings.auth,
      ...(await tokens.add(name, readOnly)),
    }),
    "token/remove": async ({ name }) => {
      await tokens.remove(name);
      return null;
    },
    // While this process does not listen, another one may do so at that address.
    "token/own": async () =>
      settings.auth === "off" || !servers.http ? null : { token: tokens.own, origin: localUrl(settings) },
  };
}

/** Throws while it could not be used. */
async function newCode({ settings, https, killSwitch, pairing }: Parts): Promise<PairingCode> {
  await https.started;
  const { port, certificate, error } = https.status();
  if (port === null)
    throw new CommandError(
      "unable",
      `an owner comes in over HTTPS only, which is off; to turn it on: ${setupCommand("--https on")}`,
    );
  if (certificate === null)
    throw new CommandError("unable", `an owner comes in over HTTPS only, which does not work: ${error}`);
  const host = ownHostIn(killSwitch.network, settings.host) ?? hostname();
  const url = `https://${host}:${port}/#/settings/owner`;
  return { code: pairing.start(), minutes: PAIRING_MINUTES, url, fingerprint: certificate.fingerprint };
}

interface ReleaseDeps {
  controller: Pick<Parts["controller"], "state">;
  killSwitch: Pick<Parts["killSwitch"], "isWanted">;
  httpsClient: Pick<Parts["httpsClient"], "pinWithin">;
}

/** Never outside the tunnel while there is one, or while the kill switch is on. */
export async function pinRelease(
  { controller, killSwitch, httpsClient }: ReleaseDeps,
  request: HttpsRequest,
): Promise<PinnedRequest | null> {
  // A tunnel whose server does not answer, or that is being exchanged, is one too.
  if (carriedBy(controller.state) === null && !killSwitch.isWanted) return null;
  return httpsClient.pinWithin(request);
}

/** Waits for an address that this machine does not have yet, such as that of a LAN whose cable is out. */
function listenWhenThere(app: App, { settings, host, log, killSwitch }: Parts, signal: AbortSignal) {
  let http = listenOn(app, settings, killSwitch.network.ipv6);
  const retry = async (): Promise<void> => {
    await host.sleep(LISTEN_AGAIN_MS, signal);
    if (signal.aborted) return;
    http = listenOn(app, settings, killSwitch.network.ipv6);
    if (http === null) return retry();
    log.info(`${settings.host} is now an address of this machine: Portcullis answers there`);
  };
  if (http === null) {
    log.warn(
      `${settings.host} is not an address of this machine yet: Portcullis will answer there as soon as it is`,
    );
    void retry().catch((error) => log.error(messageOf(error)));
  }
  return { port: http?.port ?? settings.port, stop: async () => http?.stop() };
}

/** Null if this machine does not have the address. */
function listenOn(app: App, settings: Settings, ipv6: Ipv6): ReturnType<typeof listen> | null {
  const { port } = settings;
  const host = addressIn(settings);
  try {
    // On a kernel without IPv6, "every address" is IPv4's.
    return listen(app, host === "::" && ipv6 === "missing" ? "0.0.0.0" : host, port);
  } catch (cause) {
    if (isIP(host) !== 0 && (cause as NodeJS.ErrnoException).code === "EADDRNOTAVAIL") return null;
    throw new CommandError(
      "unable",
      `cannot listen on ${host} port ${port}: ${messageOf(cause)}; choose another with --host or --port`,
      {
        cause,
      },
    );
  }
}
