import { expect, test } from "bun:test";
import { join } from "node:path";
import { Moved } from "../../src/tunnel/moved.ts";

/** What the tests use of the page, whose own types need those of the browser. */
interface Page {
  eventText: (told: object) => string;
}

const page: Page = await import(join(import.meta.dir, "../../src/dashboard/told.ts"));

test("each reason why a tunnel has moved by itself is told as such", () => {
  const because = (reason: string) =>
    page.eventText({
      ...{ tunnel: "main", state: "connected", server: "no-1", location: "Oslo, Norway" },
      moved: { from: "se-1", because: reason },
    });
  expect(Moved.properties.because.anyOf.map(({ const: reason }) => because(reason).split(". ")[1])).toEqual([
    "It moved there because se-1 does not answer.",
    "It moved there because se-1 carries no data.",
    "It went back there from se-1, because the better target answers again.",
    "It moved there because se-1 is slow.",
    "It moved there because se-1 is lossy.",
  ]);
});
