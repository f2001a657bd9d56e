import { DnsLists, DnsListsBody, DnsPauseBody, DnsStatus, QueryLogShown } from "../dns/schema.ts";
import { answers, DONE } from "./answers.ts";
import { route } from "./route.ts";

/** The log of queries is private. */
const logged = { path: "/api/dns/log", tag: "DNS", access: "private" } as const;

export const dnsRoutes = [
  route({
    method: "get",
    path: "/api/dns",
    id: "getDns",
    summary: "Read what the gateway's resolver does",
    description: "Its state, and how many names devices have asked for.",
    tag: "DNS",
    answers: answers(DnsStatus, "its state, and what the LAN has asked it"),
    run: ({ dns, blockLists, queryLog, devices }) => ({
      ...{ state: dns.state, reason: dns.reason, ...dns.counts },
      devices: dns.byDevice.all().map((each) => ({ ...each, name: devices.nameOf(each.id) ?? "" })),
      ...{ blocked_names: blockLists.size, paused_until: blockLists.pausedUntilText },
      logged_until: queryLog.untilText,
    }),
  }),
  route({
    method: "get",
    path: "/api/dns/lists",
    id: "getDnsLists",
    summary: "Read the lists of blocked names",
    description: "And the names that are never blocked.",
    tag: "DNS",
    answers: answers(DnsLists, "the lists, and the names that stay open"),
    run: ({ blockLists }) => blockLists.list(),
  }),
  route({
    method: "put",
    path: "/api/dns/lists",
    id: "setDnsLists",
    summary: "Replace the lists of blocked names",
    description: "They are fetched through the tunnel.",
    tag: "DNS",
    body: DnsListsBody,
    // A list would be an address of another host.
    example: { lists: [], exceptions: ["example.com"] },
    answers: DONE,
    limit: "connection",
    together: "queued",
    run: ({ blockLists }, { body }) => blockLists.put(body),
  }),
  route({
    method: "post",
    path: "/api/dns/pause",
    id: "pauseDnsLists",
    summary: "Let no list block names for some minutes",
    description: "0 minutes ends the pause.",
    tag: "DNS",
    body: DnsPauseBody,
    example: { minutes: 5 },
    answers: DONE,
    run: ({ blockLists }, { body }) => blockLists.pause(body.minutes),
  }),
  route({
    ...logged,
    method: "get",
    id: "getDnsLog",
    summary: "Read what devices have asked",
    description: "Since the log was started, the oldest first.",
    answers: answers(QueryLogShown, "the queries, the oldest first"),
    run: ({ queryLog }) => queryLog.shown(),
  }),
  route({
    ...logged,
    method: "post",
    id: "startDnsLog",
    summary: "Log queries for ten minutes",
    description: "In memory only. What was logged before is forgotten.",
    answers: DONE,
    run: ({ queryLog }) => queryLog.start(),
  }),
  route({
    ...logged,
    method: "delete",
    id: "stopDnsLog",
    summary: "End the log of queries",
    description: "What was logged is forgotten.",
    answers: DONE,
    run: ({ queryLog }) => queryLog.stop(),
  }),
];
