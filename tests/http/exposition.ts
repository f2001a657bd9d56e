export interface Metric {
  type: string;
  help: string;
  samples: { name: string; labels: Record<string, string>; value: number }[];
}

/**
 * Reads text format 0.0.4 and throws at whatever a strict reader could stumble over
 * (https://prometheus.io/docs/instrumenting/exposition_formats/).
 */
export function parseExposition(text: string): Map<string, Metric> {
  const metrics = new Map<string, Metric>();
  if (!text.endsWith("\n")) throw new Error("the last line does not end");
  let current = "";
  let help: RegExpExecArray | null = null;
  for (const line of text.slice(0, -1).split("\n")) {
    if (line.startsWith("# HELP ")) {
      help = must(/^# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) ((?:[^\\]|\\\\|\\n)+)$/, line);
      continue;
    }
    if (help !== null) {
      const [, name = "", type = ""] = must(/^# TYPE (\S+) (counter|gauge|histogram)$/, line);
      if (name !== help[1] || metrics.has(name)) throw new Error(`TYPE is out of place: ${line}`);
      metrics.set(name, { type, help: unescaped(help[2] ?? ""), samples: [] });
      current = name;
      help = null;
      continue;
    }
    const metric = metrics.get(current);
    if (metric === undefined) throw new Error(`a sample before its TYPE: ${line}`);
    metric.samples.push(sampleOf(line, current, metric.type));
  }
  for (const [name, metric] of metrics) checkWhole(name, metric);
  return metrics;
}

function must(pattern: RegExp, line: string): RegExpExecArray {
  const match = pattern.exec(line);
  if (match === null) throw new Error(`not in the format: ${JSON.stringify(line)}`);
  return match;
}

function sampleOf(line: string, family: string, type: string): Metric["samples"][number] {
  const pattern = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (-?[0-9]+(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?)$/s;
  const [, name = "", inner = "", value] = must(pattern, line);
  const suffixes = type === "histogram" ? ["_bucket", "_sum", "_count"] : [""];
  if (!suffixes.some((suffix) => name === family + suffix)) throw new Error(`${name} is not of ${family}`);
  return { name, labels: labelsOf(inner), value: Number(value) };
}

function labelsOf(text: string): Record<string, string> {
  const labels: Record<string, string> = {};
  let rest = text;
  while (rest !== "") {
    const [all, name = "", value = ""] = must(
      /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\\\|\\"|\\n)*)"(?:,(?=.)|$)/,
      rest,
    );
    if (name in labels) throw new Error(`${name} twice`);
    labels[name] = unescaped(value);
    rest = rest.slice(all.length);
  }
  return labels;
}

function unescaped(text: string): string {
  return text.replace(/\\(.)/gs, (_, character) => (character === "n" ? "\n" : character));
}

/** No series twice; a histogram's buckets ascend up to +Inf, which is the count. */
function checkWhole(name: string, { type, samples }: Metric): void {
  const series = samples.map(({ name: each, labels }) => each + JSON.stringify(labels));
  if (samples.length === 0 || new Set(series).size < series.length) throw new Error(`${name}: series`);
  if (type === "counter" && !name.endsWith("_total")) throw new Error(`${name} does not end in _total`);
  if (type !== "histogram") return;
  const buckets = samples.filter(({ labels }) => "le" in labels);
  const bounds = buckets.map(({ labels }) => (labels.le === "+Inf" ? Infinity : Number(labels.le)));
  const counts = buckets.map(({ value }) => value);
  const ascend = (numbers: number[]) =>
    numbers.every((each, at) => at === 0 || each >= (numbers[at - 1] ?? 0));
  const total = samples.find((sample) => sample.name === `${name}_count`)?.value;
  if (!ascend(bounds) || !ascend(counts)) throw new Error(`${name}: buckets do not ascend`);
  if (bounds.at(-1) !== Infinity || counts.at(-1) !== total)
    throw new Error(`${name}: +Inf is not the count`);
  if (!samples.some((sample) => sample.name === `${name}_sum`)) throw new Error(`${name}: no sum`);
}
