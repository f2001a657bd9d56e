import { expect, setDefaultTimeout } from "bun:test";
import { long } from "../../fast.ts";
import { measurePage } from "../../rig/bench/page.ts";
import { startRig, TIMEOUT_MS } from "../../rig/dashboard/rig.ts";

const { test } = long("measurements");

setDefaultTimeout(TIMEOUT_MS);

const ROOT = process.getuid?.() === 0;
const EFFORT = { openings: 1, updates: 20, costs: 1, costMs: 3_000 };

test.skipIf(!ROOT)(
  "what the page costs has a figure for its reader and for the gateway, and ten pages have more bytes than none",
  async () => {
    const rig = await startRig();
    try {
      const found = await measurePage(rig, EFFORT, "fed faster");
      const figures = new Map(found.map(({ name, portcullis }) => [name, portcullis ?? Number.NaN]));
      expect(figures.get("compressed size of the page")).toBeGreaterThan(10);
      for (const cache of ["cold", "warm"]) {
        const of = (what: string) =>
          figures.get(`opening: ${what}, ${cache} cache, processor throttled 4 times`) ?? Number.NaN;
        expect(of("first content")).toBeGreaterThan(0);
        expect(of("state of the home")).toBeGreaterThan(0);
        expect(of("first rates")).toBeGreaterThan(of("live figures"));
        expect(of("requests to the interface")).toBeGreaterThan(0);
      }
      // In three seconds of a busy machine, a single page may get less than others had left.
      const [none, ten] = [0, 10].map(
        (pages) => figures.get(`pages: bytes on the wire a second, ${pages} open`) ?? Number.NaN,
      );
      expect(ten).toBeGreaterThan(none ?? Number.NaN);
      expect(figures.get("the page's heap, after 20 updates, fed faster")).toBeGreaterThan(0.1);
      expect(figures.get("the page's DOM nodes, after 20 updates, fed faster")).toBeGreaterThan(50);
    } finally {
      await rig.close();
    }
  },
);
