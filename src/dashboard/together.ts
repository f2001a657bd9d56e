import { PAGE_ANSWERS } from "../shared/page-answers.ts";
import { read } from "./api.ts";
import type { Answers, Resource } from "./store.ts";

/** Nobody sees so short a time, and the events of one change come within it. */
const GATHER_MS = 20;

/** What was asked for since the last request. */
let wanted: Wanted[] = [];

interface Wanted {
  name: Resource;
  signal: AbortSignal;
  answered: (value: unknown) => void;
}

const SHARED: ReadonlySet<Resource> = new Set<Resource>(PAGE_ANSWERS);

/**
 * Reads `/api/<name>`. What is asked for at the same time is read with one request, as far as the gateway offers that; it
 * goes before the others, because the state of the home is in it.
 */
export function readTogether<Name extends Resource>(name: Name, signal: AbortSignal): Promise<Answers[Name]> {
  if (wanted.length === 0) setTimeout(send, GATHER_MS);
  return new Promise((resolve) => {
    wanted.push({ name, signal, answered: resolve as Wanted["answered"] });
  });
}

function send(): void {
  const { true: shared = [], false: others = [] } = Object.groupBy(
    wanted,
    ({ name }) => `${SHARED.has(name)}`,
  );
  wanted = [];
  if (shared.length > 1) void sendFor(shared);
  for (const { name, signal, answered } of shared.length > 1 ? others : [...shared, ...others])
    answered(read(name, signal));
}

async function sendFor(all: readonly Wanted[]): Promise<void> {
  const names = [...new Set(all.map(({ name }) => name))].toSorted();
  const reading = read<Partial<Answers>>(`page?of=${names.join("+")}`, allOf(all));
  // What is missing could not be read, and its own path says why.
  for (const { name, signal, answered } of all)
    answered(reading.then((answers) => answers[name] ?? read(name, signal)));
}

/** Ends the request once nobody waits for it any more. */
function allOf(all: readonly Wanted[]): AbortSignal {
  const ending = new AbortController();
  const check = () => all.every(({ signal }) => signal.aborted) && ending.abort();
  for (const { signal } of all) signal.addEventListener("abort", check);
  check();
  return ending.signal;
}
