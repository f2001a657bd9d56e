import type { Forward } from "../forwards/schema.ts";
import { sentenceFrom } from "../shared/words.ts";
import { say } from "./language.ts";

/** By what the internet reaches a forwarded port, or why it does not: what it is. */
export function reachOf(forward: Forward): string {
  return reached(forward, { form: "fact", title: "" });
}

/** The same as a sentence about the port with this title, or about "it". */
export function reachSentence(forward: Forward, title?: string): string {
  return sentenceFrom(reached(forward, { form: title === undefined ? "it" : "title", title: title ?? "" }));
}

/** What the text is about. */
interface About {
  form: "fact" | "it" | "title";
  title: string;
}

function reached({ state, external, address, tunnel, asked_by, error }: Forward, about: About): string {
  if (state === "open")
    return say(
      "{form, select, fact {reached from the internet} it {It is reached from the internet} other {{title} is reached from the internet}} at port {external}{server, select, known { of {address}} other {}} of the {tunnel, select, main {main tunnel} other {tunnel {tunnel}}}{asked, select, device {, which the device has asked for} other {}}",
      {
        ...about,
        external: external ?? "",
        server: address === null ? "unknown" : "known",
        address: address ?? "",
        tunnel: tunnel ?? "",
        asked: asked_by,
      },
    );
  return say(
    "{form, select, fact {forwarded, but not open} it {It is forwarded, but not open} other {{title} is forwarded, but not open}}{why, select, known {: {error}} other { yet}}",
    { ...about, why: error === null ? "unknown" : "known", error: error ?? "" },
  );
}
