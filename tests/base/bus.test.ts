import { expect, test } from "bun:test";
import fc from "fast-check";
import { Bus, MAX_DEPTH, MAX_LISTENERS } from "../../src/base/bus.ts";

interface Events {
  door: { open: boolean };
  light: { on: boolean };
  count: number;
}

const newBus = () => {
  const faults: string[] = [];
  return { bus: new Bus<Events>((fault) => faults.push(fault)), faults };
};
const count = (payload: number) => ({ type: "count", payload }) as const;

test("a listener hears the events of its types, in order, before publish returns", () => {
  const { bus } = newBus();
  const heard: unknown[] = [];
  bus.subscribe(["door", "light"], (event) => heard.push(event));
  bus.publish({ type: "door", payload: { open: true } });
  expect(heard).toEqual([{ type: "door", payload: { open: true } }]);
  bus.publish(count(1));
  bus.publish({ type: "light", payload: { on: false } });
  expect(heard.slice(1)).toEqual([{ type: "light", payload: { on: false } }]);
});

test("a listener whose signal aborts hears nothing more, not even the event that is being delivered", () => {
  const { bus } = newBus();
  const heard: number[] = [];
  const ending = new AbortController();
  bus.subscribe("count", () => ending.abort());
  bus.subscribe("count", ({ payload }) => heard.push(payload), ending.signal);
  expect(bus.hasListeners("count")).toBe(true);
  bus.publish(count(1));
  bus.subscribe("light", () => heard.push(0), ending.signal);
  bus.publish({ type: "light", payload: { on: true } });
  expect(heard).toEqual([]);
  expect(bus.hasListeners("light")).toBe(false);
});

test("one that subscribes while an event is delivered hears the next one", () => {
  const { bus } = newBus();
  const heard: number[] = [];
  const ending = new AbortController();
  const begin = () => bus.subscribe("count", ({ payload }) => heard.push(payload));
  bus.subscribe("count", begin, ending.signal);
  bus.publish(count(1));
  ending.abort();
  bus.publish(count(2));
  expect(heard).toEqual([2]);
});

test("a report that fails, or an error without a text, keeps no event from the others", async () => {
  const bus = new Bus<Events>(() => {
    throw new Error("nobody reads the log");
  });
  const heard: number[] = [];
  bus.subscribe("door", () => {
    throw new Error("broken");
  });
  bus.subscribe("door", () => Promise.reject(Object.create(null)));
  bus.subscribe("count", ({ payload }) => void heard.push(payload));
  await bus.published({ type: "door", payload: { open: true } });
  bus.publish(count(1));
  expect(heard).toEqual([1]);
});

test("a listener's error reaches neither another listener nor the publisher, and is reported once", async () => {
  const { bus, faults } = newBus();
  const heard: number[] = [];
  bus.subscribe("count", () => {
    throw new Error("broken");
  });
  bus.subscribe("count", async () => {
    throw new Error("broken later");
  });
  bus.subscribe("count", ({ payload }) => heard.push(payload));
  for (const each of [1, 2, 3]) bus.publish(count(each));
  await Promise.resolve();
  expect(heard).toEqual([1, 2, 3]);
  expect(faults).toEqual(["the event count: broken", "the event count: broken later"]);
});

test("different faults without end do not fill the log", () => {
  const { bus, faults } = newBus();
  bus.subscribe("count", ({ payload }) => {
    throw new Error(`${payload}`);
  });
  for (let each = 0; each < 1_000; each++) bus.publish(count(each));
  expect(faults.length).toBe(100);
});

test("who subscribes without end is refused", () => {
  const { bus } = newBus();
  for (let each = 0; each < MAX_LISTENERS; each++) bus.subscribe("count", () => {});
  expect(() => bus.subscribe("count", () => {})).toThrow("the event count has 100 listeners, the maximum");
});

test("events that cause each other in a circle end, are reported once, and do not end what comes later", () => {
  const { bus, faults } = newBus();
  let lights = 0;
  bus.subscribe("door", () => bus.publish({ type: "light", payload: { on: true } }));
  bus.subscribe("light", () => {
    lights += 1;
    bus.publish({ type: "door", payload: { open: true } });
  });
  for (const each of [1, 2]) {
    bus.publish({ type: "door", payload: { open: true } });
    expect(lights).toBe((each * MAX_DEPTH) / 2);
  }
  expect(faults).toEqual(["the event light: is published by its own listeners, 8 times over"]);
});

test("who waits for an event waits for the work that it begins, even if some of it fails", async () => {
  const { bus, faults } = newBus();
  const done: string[] = [];
  const held = Promise.withResolvers<void>();
  bus.subscribe("count", async () => {
    await held.promise;
    done.push("work");
  });
  bus.subscribe("count", () => Promise.reject(new Error("broken")));
  bus.subscribe("door", () => bus.published(count(1)));
  const all = bus.published({ type: "door", payload: { open: true } }).then(() => done.push("told"));
  held.resolve();
  await all;
  expect(done).toEqual(["work", "told"]);
  expect(faults).toEqual(["the event count: broken"]);
  await bus.published({ type: "light", payload: { on: true } });
});

/** What a listener publishes when it hears a number, and whether it fails then. */
const listeners = fc.array(
  fc.record({ publishes: fc.array(fc.nat(9), { maxLength: 2 }), fails: fc.boolean() }),
  { maxLength: 5 },
);

test("whatever listeners publish, and whichever fail, all hear the same events in the same order", () => {
  fc.assert(
    fc.property(listeners, fc.array(fc.nat(9), { maxLength: 5 }), (given, published) => {
      const { bus } = newBus();
      const heard = given.map((): number[] => []);
      given.forEach(({ publishes, fails }, at) => {
        bus.subscribe("count", ({ payload }) => {
          heard[at]?.push(payload);
          // Smaller each time, so that it ends.
          for (const each of publishes) if (each < payload) bus.publish(count(each));
          if (fails) throw new Error("broken");
        });
      });
      for (const each of published) bus.publish(count(each));
      for (const each of heard) expect(each).toEqual(heard[0] ?? []);
      if (given.every(({ publishes }) => publishes.length === 0))
        for (const each of heard) expect(each).toEqual(published);
    }),
  );
});
