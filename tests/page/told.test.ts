import { expect, test } from "bun:test";
import { join } from "node:path";
import { ALERTS } from "../../src/base/alert-rows.ts";
import { Moved } from "../../src/tunnel/moved.ts";

/** What the tests use of the page, whose own types need those of the browser. */
interface Page {
  eventText: (told: object) => string;
  alertLook: (alert: { code: string }) => { icon: string };
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

test("each fault has a warning triangle, and neither its end nor news has one", () => {
  const icons = { fault: "warning", over: "good", news: "news" };
  for (const [code, { kind }] of Object.entries(ALERTS))
    expect([code, page.alertLook({ code }).icon]).toEqual([code, icons[kind]]);
  expect(page.alertLook({ code: "remote_changed" }).icon).toBe("news");
  expect(page.alertLook({ code: "of_a_newer_gateway" }).icon).toBe("warning");
});
