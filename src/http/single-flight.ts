import type { Gateway } from "./gateway.ts";

/**
 * The gateway as many clients at once can use it. What asks the kernel starts programs, so however many ask, one
 * asks for all. What writes to the disk holds the whole process up, so one writes, and then everything else has
 * its turn.
 */
export function inTurns(gateway: Gateway): Gateway {
  const write = oneByOne();
  return {
    status: shared(() => gateway.status()),
    health: shared(() => gateway.health()),
    use: (provider) => write(() => gateway.use(provider)),
    addCustom: (server) => write(() => gateway.addCustom(server)),
    remove: (provider, name) => write(() => gateway.remove(provider, name)),
    importConfig: (config) => write(() => gateway.importConfig(config)),
    connect: (name) => gateway.connect(name),
    disconnect: () => gateway.disconnect(),
    providers: () => gateway.providers(),
    servers: () => gateway.servers(),
    keyPair: () => gateway.keyPair(),
    subscribe: (listener) => gateway.subscribe(listener),
    figures: shared(() => gateway.figures()),
  };
}

/** Calls that come while a read is under way share the next one, so that nobody is told what was before he asked. */
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

/** Runs what it is given in order, and lets the event loop go round once before each. */
export function oneByOne(): <T>(work: () => T | Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const done = last.then(() => new Promise((resolve) => setImmediate(resolve))).then(work);
    last = done.catch(() => {});
    return done;
  };
}
