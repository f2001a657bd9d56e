import { Type } from "typebox";
import { Checks } from "../checks/schema.ts";
import { answer, answers, Refusal } from "./answers.ts";
import { route } from "./route.ts";
import { KillSwitchLayers } from "./schema.ts";

export const healthRoutes = [
  route({
    method: "get",
    path: "/health",
    id: "checkHealth",
    summary: "Check health",
    description: "200 if the kill switch works as promised, whether or not a tunnel is up.",
    tag: "Health",
    access: "open",
    answers: {
      200: answer(Type.Literal("healthy"), "the kill switch works as promised"),
      403: answer(Refusal, "from outside the local network, or sent by a page of another site"),
      500: answer(Type.String(), "it does not, and one line says why"),
    },
    run: async ({ overview }) => {
      const trouble = await overview.health();
      return trouble === null ? plain("healthy", 200) : plain(trouble.replace(/\s+/g, " "), 500);
    },
  }),
  route({
    method: "get",
    path: "/api/killswitch",
    id: "getKillSwitch",
    summary: "Read the kill switch's layers",
    description: "The firewall and the routing rules, as the kernel has them. Each blocks alone.",
    tag: "Health",
    answers: answers(KillSwitchLayers, "the kill switch's layers as the kernel has them"),
    together: "shared",
    run: async ({ tunnels }) => {
      const { layers, direct, trouble } = await tunnels.protection.layers();
      return {
        active: layers.some(({ name, holds }) => name === "firewall" && holds),
        wanted: tunnels.killSwitch.isWanted,
        layers,
        direct_devices: direct,
        error: trouble ?? tunnels.fault,
      };
    },
  }),
  route({
    method: "get",
    path: "/api/checks",
    id: "runChecks",
    summary: "Check that everything works",
    description: "What `portcullis check` says: what was looked at, what was found, and what to do about it.",
    tag: "Health",
    answers: answers(Checks, "what was looked at, what was found, and what to do about it"),
    run: ({ checkup }) => checkup.results(),
  }),
];

function plain(text: string, status: number): Response {
  return new Response(text, { status, headers: { "content-type": "text/plain; charset=utf-8" } });
}
