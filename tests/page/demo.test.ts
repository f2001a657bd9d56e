import { expect, test } from "bun:test";
import { PAGE_ANSWERS } from "../../src/shared/page-answers.ts";
import { recordedAt } from "../rig/demo/recorded.ts";

// A Monday.
const NOW = "2026-11-30T04:00:00.000Z";

const recorded = recordedAt(Date.parse(NOW));
const bodyOf = (path: string) => recorded.get(path)?.body as { [key: string]: never };

test("the demonstration has every answer that the page begins with", () => {
  expect(Object.keys(bodyOf("/api/page")).toSorted()).toEqual([...PAGE_ANSWERS].toSorted());
  for (const name of PAGE_ANSWERS) expect(recorded.get(`/api/${name}`)?.status).toBe(200);
  expect(recorded.get("/api/accounts/mullvad")?.status).toBe(404);
});

test("what has happened was minutes ago, and what is to come keeps its time of day and its days", () => {
  expect(bodyOf("/api/checks")).toMatchObject({ checked_at: NOW });
  expect(bodyOf("/api/devices")).toMatchObject({
    devices: expect.arrayContaining([expect.objectContaining({ seen_at: "2026-11-30T03:58:13.000Z" })]),
  });
  expect(bodyOf("/api/schedules")).toMatchObject({
    schedules: [
      { name: "move", at: "04:00", next_at: "2026-12-01T03:00:00.000Z" },
      { name: "night", days: ["mon", "fri"], next_at: "2026-11-30T20:00:00.000Z" },
      { name: "slow", at: "12:00", next_at: "2026-11-30T11:00:00.000Z" },
    ],
  });
  // Tuesday, after that of Monday.
  const { body } = recordedAt(Date.parse("2026-12-01T04:00:00.000Z")).get("/api/schedules") ?? {};
  expect(body).toMatchObject({ schedules: [{}, { next_at: "2026-12-04T20:00:00.000Z" }, {}] });
});
