/** A metric of what was read; see https://prometheus.io/docs/instrumenting/exposition_formats/. */
export interface MetricOf<Figures> {
  name: string;
  help: string;
  labels?: readonly string[];
  of: (figures: Figures) => Read;
}

/** A value; null for none; values by the only label; or samples with all labels. */
type Read = number | null | Readonly<Record<string, number>> | readonly Sample[];

export interface Sample {
  /** What follows the metric's name: `_bucket`, `_sum` and `_count` of a histogram. */
  suffix?: string;
  labels?: Readonly<Record<string, string>>;
  value: number;
}

/** The metrics in text format 0.0.4; one without samples is left out. */
export function expositionOf<Figures>(metrics: readonly MetricOf<Figures>[], figures: Figures): string {
  const texts = metrics.map(({ name, help, labels, of }) => {
    const samples = samplesIn(of(figures), labels?.[0] ?? "");
    if (samples.length === 0) return "";
    const head = `# HELP ${name} ${escapedHelp(help)}\n# TYPE ${name} ${typeOf(name, samples)}\n`;
    return head + samples.map((sample) => lineOf(name, sample)).join("");
  });
  return texts.join("");
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

function typeOf(name: string, samples: readonly Sample[]): "counter" | "gauge" | "histogram" {
  if (samples.some(({ suffix }) => suffix === "_bucket")) return "histogram";
  return name.endsWith("_total") ? "counter" : "gauge";
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
