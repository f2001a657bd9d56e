import { nextTurn, Queue } from "../base/queue.ts";
import type { Gateway } from "./gateway.ts";

/**
 * A gateway that many clients can use at once. Reading the kernel's state may start programs, so concurrent
 * requests share one reading. A write to the disk blocks the whole process, so writes run one after the other, with other
 * work between them.
 */
export function singleFlight(gateway: Gateway): Gateway {
  const queue = new Queue();
  const write = <T>(work: () => T | Promise<T>) => queue.add(() => nextTurn().then(work));
  return {
    status: shared(() => gateway.status()),
    health: shared(() => gateway.health()),
    checks: () => gateway.checks(),
    use: (provider) => write(() => gateway.use(provider)),
    managed: () => gateway.managed(),
    chooseManaged: (name) => gateway.chooseManaged(name),
    addCustom: (server) => write(() => gateway.addCustom(server)),
    remove: (provider, name) => write(() => gateway.remove(provider, name)),
    importConfig: (config) => write(() => gateway.importConfig(config)),
    connect: (choice) => gateway.connect(choice),
    disconnect: () => gateway.disconnect(),
    tunnels: shared(() => gateway.tunnels()),
    leadTunnel: (name, choice) => gateway.leadTunnel(name, choice),
    disconnectTunnel: (name) => gateway.disconnectTunnel(name),
    removeTunnel: (name) => gateway.removeTunnel(name),
    providers: () => gateway.providers(),
    serverCounts: () => gateway.serverCounts(),
    servers: () => gateway.servers(),
    forwardedPorts: () => gateway.forwardedPorts(),
    keyPair: () => gateway.keyPair(),
    subscribe: (listener) => gateway.subscribe(listener),
    devices: shared(() => gateway.devices()),
    assignDevice: (id, change) => write(() => gateway.assignDevice(id, change)),
    forgetDevice: (id) => write(() => gateway.forgetDevice(id)),
    setDefaultExit: (exit) => write(() => gateway.setDefaultExit(exit)),
    deviceAt: (address) => gateway.deviceAt(address),
    forwards: shared(() => gateway.forwards()),
    // A change waits for the provider, so others do not wait for it.
    forward: (id, change) => gateway.forward(id, change),
    removeForward: (id) => gateway.removeForward(id),
    favourites: () => gateway.favourites(),
    addFavourite: (provider, server) => write(() => gateway.addFavourite(provider, server)),
    removeFavourite: (provider, server) => write(() => gateway.removeFavourite(provider, server)),
    schedules: () => gateway.schedules(),
    putSchedule: (name, schedule) => write(() => gateway.putSchedule(name, schedule)),
    removeSchedule: (name) => write(() => gateway.removeSchedule(name)),
    roundTrips: () => gateway.roundTrips(),
    network: () => gateway.network(),
    killSwitch: shared(() => gateway.killSwitch()),
    journal: (range) => gateway.journal(range),
    history: paced((query) => gateway.history(query)),
    followTraffic: (listener) => gateway.followTraffic(listener),
    figures: shared(() => gateway.figures()),
  };
}

/** A long read of the database blocks the whole process: after each one there is as long a time for other work. */
function paced<Query, T>(read: (query: Query) => T | Promise<T>): (query: Query) => Promise<T> {
  let rested: Promise<unknown> = Promise.resolve();
  return (query) => {
    let took = 0;
    const answered = rested.then(async () => {
      const start = performance.now();
      const answer = await read(query);
      took = performance.now() - start;
      return answer;
    });
    rested = answered.catch(() => {}).then(() => Bun.sleep(took));
    return answered;
  };
}

/** Calls during a read share the next one, so that no answer is older than its request. */
export function shared<T>(read: () => Promise<T>): () => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  let next: Promise<T> | null = null;
  const begin = () => {
    next = null;
    const result = read();
    last = result;
    return result;
  };
  return () => {
    next ??= last.then(begin, begin);
    return next;
  };
}
