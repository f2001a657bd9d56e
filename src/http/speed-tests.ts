import { SpeedBody, SpeedResult, SpeedTestList } from "../speed/schema.ts";
import { answers } from "./answers.ts";
import { route } from "./route.ts";

/**
 * A test that prints nothing until its end can take over a minute: the name, silent addresses, and the longest
 * download.
 */
const ANSWER_WITHIN_SECONDS = 120;

const shared = { tag: "Tunnels", path: "/api/speed-tests" } as const;

export const speedRoutes = [
  route({
    ...shared,
    method: "get",
    id: "listSpeedTests",
    summary: "List the results of speed tests",
    description: "And the test that runs, with how far it is.",
    answers: answers(SpeedTestList, "the test that runs, and the results that are kept"),
    run: ({ speedTests }) => speedTests.list(),
  }),
  route({
    ...shared,
    method: "post",
    id: "runSpeedTest",
    summary: "Measure how fast a tunnel is",
    description:
      "Downloads from an address that you name. The answer comes at the end of the test; closing the request ends it earlier.",
    body: SpeedBody,
    example: { url: "speed.example.com/100MB.bin" },
    answers: answers(SpeedResult, "the test has ended; closing the request ends it earlier"),
    limit: "connection",
    run: ({ speedTests, serverOf }, { body, request }) => {
      serverOf(request)?.timeout(request, ANSWER_WITHIN_SECONDS);
      return speedTests.run(body, request.signal);
    },
  }),
];
