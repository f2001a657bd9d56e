import { expect, test } from "bun:test";
import { Elysia } from "elysia";
import { nextTurn } from "../../src/base/queue.ts";
import { DONE } from "../../src/http/answers.ts";
import type { Domain } from "../../src/http/domain.ts";
import { register } from "../../src/http/register.ts";
import { route } from "../../src/http/route.ts";

test("writes run in order with other work between them, and a failed one does not stop the others", async () => {
  const log: string[] = [];
  const writing = (name: string) =>
    route({
      method: "post",
      path: `/${name}`,
      answers: DONE,
      together: "queued",
      run: () => {
        log.push(name);
        setImmediate(() => log.push(`other work after ${name}`));
        if (name === "two") throw new Error("no");
      },
    });
  const app = new Elysia();
  register(app, ["one", "two", "three"].map(writing), {} as Domain);
  const post = (path: string) => app.handle(new Request(`http://localhost/${path}`, { method: "POST" }));
  const answers = await Promise.all([post("one"), post("two"), post("three")]);
  expect(answers.map(({ status }) => status)).toEqual([200, 500, 200]);
  await nextTurn();
  expect(log).toEqual([
    "one",
    "other work after one",
    "two",
    "other work after two",
    "three",
    "other work after three",
  ]);
});
