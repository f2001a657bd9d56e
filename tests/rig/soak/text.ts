import { courseOf, isLongEnough } from "./meter.ts";
import type { Report } from "./soak.ts";

/** One line on the way. */
export function progressOf(report: Report, minutes: number): string {
  if (report.begin === null) return "positive control: without a kill switch, until leaks are seen";
  const { rounds, made, asked, disturbances, requests, leaked, samples, judged } = report;
  const sample = samples.at(-1);
  const used = sample && `${sample.rssMib.toFixed(0)} MiB, ${sample.descriptors} descriptors`;
  return [
    `${rounds} rounds, ${made} of ${asked} changes made, ${disturbances} disturbances`,
    `${requests.sent} requests`,
    `${leaked} leaked of ${judged.packets} packets`,
    used ?? "not measured now",
    `${Math.max(0, minutes - report.minutes).toFixed(1)} minutes left`,
  ].join("; ");
}

/** What happened and what was found, for people. */
export function textOf(report: Report): string {
  const {
    rounds,
    made,
    asked,
    disturbances,
    kinds,
    judged,
    leaked,
    requests,
    events,
    begin,
    end,
    lives,
    samples,
  } = report;
  const course = (name: string, of: "rssMib" | "descriptors", unit: string, digits: number) => {
    const found = courseOf(samples, of);
    if (found === null) return `${name}: not measured`;
    const { second, last, perHour } = found;
    const figures = `${second.toFixed(digits)}${unit} in the second quarter, ${last.toFixed(digits)}${unit} in the last`;
    const slope = `${perHour < 0 ? "" : "+"}${perHour.toFixed(1)} an hour`;
    return `${name}: ${figures} (${isLongEnough(samples) ? slope : "too short to judge"})`;
  };
  const what = Object.entries(kinds).map(([kind, count]) => `${count} ${kind}`);
  const seen = (control: Report["begin"]) =>
    control === null ? "not reached" : `${control.frames} frames and ${control.packets} marked packets`;
  return [
    `${(report.minutes / 60).toFixed(2)} hours, ${rounds} rounds, each with a quiet moment at its end`,
    `changes: ${made} of ${asked} made; disturbances: ${disturbances}`,
    `of these: ${what.join(", ")}`,
    `requests: ${requests.sent}, median ${requests.medianMs.toFixed(1)} ms, 99 % within ${requests.slowestMs.toFixed(0)} ms; ${requests.skipped} left out because all clients were waiting`,
    `WebSockets: ${events.heard} messages heard, ${events.compared} events of the journal compared, ${events.closed} closed by restarts`,
    `starts of the service: ${lives}`,
    `leaked: ${leaked} of ${judged.packets} marked packets and ${judged.frames} frames at the home router`,
    `positive control, at the beginning and at the end: ${seen(begin)}; ${seen(end)}`,
    course("memory", "rssMib", " MiB", 1),
    course("descriptors", "descriptors", "", 0),
    report.fault === null ? "no fault" : `not passed: ${report.fault}`,
  ].join("\n");
}
