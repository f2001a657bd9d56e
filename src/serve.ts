import { hostname } from "node:os";
import { GatewayError, messageOf } from "./errors.ts";
import { rulesetOf } from "./firewall/ruleset.ts";
import { createApp, listen } from "./http/app.ts";
import type { Gateway } from "./http/gateway.ts";
import { Log } from "./log.ts";
import { answerOperator } from "./operator.ts";
import { linksOf } from "./routing/links.ts";
import { applyRules, rulesFor } from "./routing/rules.ts";
import { alternativesTo } from "./servers/alternatives.ts";
import { Catalogue } from "./servers/catalogue.ts";
import { ManagedList } from "./servers/managed.ts";
import { PROVIDERS } from "./servers/schema.ts";
import { Store } from "./servers/store.ts";
import type { Settings } from "./settings.ts";
import { LinuxHost } from "./system/linux.ts";
import { assertMachine } from "./system/machine.ts";
import { Memory } from "./tunnel/memory.ts";
import { listTable } from "./tunnel/protection.ts";
import { type Tunnel, tunnelIn } from "./tunnel/tunnel.ts";
import { generateKeyPair } from "./wireguard/key.ts";

/** The parts of a gateway, put together; nothing has touched the kernel yet. */
export interface Graph extends Tunnel {
  catalogue: Catalogue;
  memory: Memory;
  log: Log;
  alerts: string[];
}

export interface Service {
  port: number;
  /** Stops answering; what stands in the kernel stays. */
  stop(): Promise<void>;
}

/** Raises the kill switch, then answers on the HTTP interface. */
export async function serve(settings: Settings): Promise<Service> {
  // The database and the operator's socket are nobody else's business.
  process.umask(0o077);
  assertMachine(settings.netns);
  const graph = await graphOf(settings).catch(async (error: unknown) => {
    await raiseKillSwitch(settings);
    throw error;
  });
  const { controller, supervisor, catalogue, log } = graph;
  await controller.start(catalogue.all()).catch(async (error: unknown) => {
    if (graph.memory.killSwitch()) await raiseKillSwitch(settings);
    throw error;
  });
  for (const alert of graph.alerts) log.warn(alert);
  if (controller.lans.length === 0)
    log.warn("no LAN interface with a private address: only this machine can reach the gateway");
  const operator = await answerOperator(settings.stateDir, controller);
  const app = createApp(gatewayOf(graph), {
    names: [hostname()],
    lan: () => controller.lans.flatMap((lan) => lan.prefixes),
    clock: new LinuxHost(),
    log: (method, path, status, ms) => log.debug(`${method} ${path} ${status} ${ms.toFixed(1)} ms`),
    fault: (message) => log.error(message),
  });
  const stopping = new AbortController();
  const http = listenOn(app, settings);
  const killSwitch = graph.memory.killSwitch() ? "stands" : "is down, as the operator wants it";
  log.info(`Portcullis answers on port ${http.port}; the kill switch ${killSwitch}`);
  void supervisor.watch(stopping.signal);
  return {
    port: http.port,
    stop: async () => {
      stopping.abort();
      operator.stop();
      await http.stop();
    },
  };
}

export async function graphOf(settings: Settings): Promise<Graph> {
  assertMachine(settings.netns);
  const log = new Log(settings.logLevel);
  const host = new LinuxHost(settings.netns);
  const store = Store.open(settings.stateDir, host.now());
  const managed = await ManagedList.read(host, settings);
  const memory = new Memory(store);
  const catalogue = new Catalogue(store, managed);
  const tunnel = tunnelIn({
    host,
    memory,
    findLinks: () => linksOf(host, settings),
    base: settings.interface,
    userspace: process.env.WG_QUICK_USERSPACE_IMPLEMENTATION ?? "wireguard-go",
    autoconnect: settings.autoconnect,
    alternatives: (server) => (settings.failover ? alternativesTo(server, catalogue.all()) : []),
    log,
    alarm: (code, message) => log.warn(`security_alert ${code}: ${message}`),
  });
  const alerts = [store.alert, managed.alert].filter((alert) => alert !== null);
  return { ...tunnel, catalogue, memory, log, alerts };
}

/** What is left to do where the service cannot start: without its state nobody knows that the operator wants the switch down. */
async function raiseKillSwitch(settings: Settings): Promise<void> {
  const host = new LinuxHost(settings.netns);
  // What an earlier service left in place is as closed, and may hold a live tunnel.
  if ((await listTable(host)) !== null) return;
  const { lans, uplink } = await linksOf(host, settings);
  const ruleset = rulesetOf({ lans, uplink, dialing: [], carrying: [], lookup: null });
  await host.run(["nft", "-f", "-"], { stdin: ruleset });
  await applyRules(host, rulesFor(lans));
}

function gatewayOf({ catalogue, controller, memory, alerts }: Graph): Gateway {
  return {
    status: async () => {
      const status = await controller.status(catalogue.current());
      return { ...status, error: status.error ?? alerts[0] ?? null };
    },
    providers: () => ({ providers: [...PROVIDERS], current: catalogue.current() }),
    use: (provider) => catalogue.use(provider),
    servers: () => catalogue.tree(),
    connect: async (name) => controller.connect(catalogue.find(name)),
    disconnect: async () => {
      await controller.disconnect();
      return { killSwitch: memory.killSwitch() };
    },
    addCustom: (body) => catalogue.addCustom(body),
    removeCustom: (name) => {
      if (controller.uses("custom", name)) {
        throw new GatewayError("bad_request", "name: the tunnel uses this server; disconnect first");
      }
      catalogue.removeCustom(name);
    },
    importConfig: (body) => catalogue.importConfig(body),
    keyPair: () => {
      const { privateKey, publicKey } = generateKeyPair();
      return { private_key: privateKey, public_key: publicKey };
    },
    health: () => controller.fault(),
  };
}

function listenOn(app: ReturnType<typeof createApp>, { host, port }: Settings): ReturnType<typeof listen> {
  try {
    return listen(app, host, port);
  } catch (cause) {
    throw new GatewayError(
      "unable",
      `cannot listen on ${host} port ${port}: ${messageOf(cause)}; choose another with --port`,
      {
        cause,
      },
    );
  }
}
