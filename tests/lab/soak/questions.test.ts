import { afterAll, expect, test } from "bun:test";
import { Home } from "../../http/home.ts";
import { READS, REFUSED } from "../../rig/soak/questions.ts";
import { ask } from "../../rig/tools/request.ts";

const home = await Home.start();
afterAll(() => home.stop());

test.each(["read", "refusal"])("the interface answers each %s as the soak expects", async (kind) => {
  const wrong: string[] = [];
  for (const [index, asked] of (kind === "read" ? READS : REFUSED).entries()) {
    const answer = await ask(home.port, `127.0.4.${index + 1}`, asked);
    if (answer === null || !asked.isRight(answer))
      wrong.push(`${asked.method} ${asked.path} ${asked.body?.slice(0, 40)}: ${JSON.stringify(answer)}`);
  }
  expect(wrong).toEqual([]);
});
