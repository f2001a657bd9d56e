/** A metric with its samples; see https://prometheus.io/docs/instrumenting/exposition_formats/. */
export interface Family {
  name: string;
  type: "counter" | "gauge" | "histogram";
  help: string;
  samples: readonly Sample[];
}

export interface Sample {
  /** What follows the family's name: `_bucket`, `_sum` and `_count` of a histogram. */
  suffix?: string;
  labels?: Readonly<Record<string, string>>;
  value: number;
}

/** A metric of what was read. */
export interface MetricOf<Figures> {
  name: string;
  help: string;
  labels?: readonly string[];
  of: (figures: Figures) => Read;
}

/** A value; null for none; values by the only label; or samples with all labels. */
type Read = number | null | Readonly<Record<string, number>> | readonly Sample[];

export function familyOf<Figures>(
  { name, help, labels = [], of }: MetricOf<Figures>,
  figures: Figures,
): Family {
  const samples = samplesIn(of(figures), labels[0] ?? "");
  return { name, type: typeOf(name, samples), help, samples };
}

function samplesIn(read: Read, label: string): readonly Sample[] {
  if (read === null) return [];
  if (typeof read === "number") return [{ value: read }];
  if (isSamples(read)) return read;
  return Object.entries(read).map(([name, value]) => ({ labels: { [label]: name }, value }));
}

function isSamples(read: Exclude<Read, number | null>): read is readonly Sample[] {
  return Array.isArray(read);
}

function typeOf(name: string, samples: readonly Sample[]): Family["type"] {
  if (samples.some(({ suffix }) => suffix === "_bucket")) return "histogram";
  return name.endsWith("_total") ? "counter" : "gauge";
}

/** The families in text format 0.0.4; a family without samples is left out. */
export function expositionOf(families: readonly Family[]): string {
  return families
    .filter(({ samples }) => samples.length > 0)
    .map(({ name, type, help, samples }) =>
      [
        `# HELP ${name} ${escapedHelp(help)}\n`,
        `# TYPE ${name} ${type}\n`,
        ...samples.map((sample) => lineOf(name, sample)),
      ].join(""),
    )
    .join("");
}

function lineOf(name: string, { suffix = "", labels = {}, value }: Sample): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapedLabel(text)}"`);
  return `${name}${suffix}${pairs.length > 0 ? `{${pairs.join(",")}}` : ""} ${numeral(value)}\n`;
}

/** Go's ParseFloat reads what JavaScript writes, except for infinity. */
export function numeral(value: number): string {
  return Number.isFinite(value) || Number.isNaN(value) ? String(value) : value > 0 ? "+Inf" : "-Inf";
}

function escapedHelp(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}

function escapedLabel(text: string): string {
  return escapedHelp(text).replaceAll('"', '\\"');
}
