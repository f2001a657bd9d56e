import { DnsLists, DnsListsBody, DnsPauseBody, DnsStatus, QueryLogShown } from "../dns/schema.ts";
import { answers, done } from "./answers.ts";
import { route } from "./route.ts";

/** Who asks for what is nobody's business but the owner's. */
const logged = { path: "/api/dns/log", tag: "DNS", access: "private" } as const;

export const dnsRoutes = [
  route({
    method: "get",
    path: "/api/dns",
    summary: "Show what the gateway's own resolver does",
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
    summary: "List the lists of blocked names",
    tag: "DNS",
    answers: answers(DnsLists, "the lists, and the names that stay open"),
    run: ({ blockLists }) => blockLists.list(),
  }),
  route({
    method: "put",
    path: "/api/dns/lists",
    summary: "Replace the lists of blocked names",
    tag: "DNS",
    body: DnsListsBody,
    // A list would be an address of another host.
    example: { lists: [], exceptions: ["example.com"] },
    answers: done("the lists are saved, and are fetched through the tunnel"),
    limit: "connection",
    together: "queued",
    run: ({ blockLists }, { body }) => blockLists.put(body),
  }),
  route({
    method: "post",
    path: "/api/dns/pause",
    summary: "For some minutes, let no list block names",
    tag: "DNS",
    body: DnsPauseBody,
    example: { minutes: 5 },
    answers: done("no list blocks until then"),
    run: ({ blockLists }, { body }) => blockLists.pause(body.minutes),
  }),
  route({
    ...logged,
    method: "get",
    summary: "Show what devices have asked since the log was started",
    answers: answers(QueryLogShown, "the queries, the oldest first"),
    run: ({ queryLog }) => queryLog.shown(),
  }),
  route({
    ...logged,
    method: "post",
    summary: "Log queries in memory for ten minutes, and forget those that were logged before",
    answers: done("queries are logged"),
    run: ({ queryLog }) => queryLog.start(),
  }),
  route({
    ...logged,
    method: "delete",
    summary: "End the log, and forget what was asked",
    answers: done("nothing is logged, and nothing of it is left"),
    run: ({ queryLog }) => queryLog.stop(),
  }),
];
