import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { bundle } from "../../../src/http/dashboard/bundle.ts";
import { BANNER_HTML, BANNER_STYLE } from "./banner.ts";

const PAGE = "index.html";
const SCRIPT = "demonstration.js";
const STYLE = "demonstration.css";
const TEXTS = /\.(html|js|css)$/;

/** Writes the page, and what takes the gateway's place, as files for any web server. scripts/demo runs it. */
export async function buildDemo(folder: string): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const write = (name: string, content: string | Uint8Array) => Bun.write(join(folder, name), content);
  for (const [name, packed] of Object.entries(bundle())) {
    // As an app it would be one of the whole site, of which it may be a part.
    if (name.endsWith(".webmanifest")) continue;
    const bytes = Bun.gunzipSync(Uint8Array.fromBase64(packed));
    const content = TEXTS.test(name) ? anywhere(new TextDecoder().decode(bytes)) : bytes;
    await write(name, name === PAGE && typeof content === "string" ? withGateway(content) : content);
  }
  await write(SCRIPT, await gatewayScript());
  await write(STYLE, BANNER_STYLE);
}

/** A gateway has the files of its page below `/dashboard/`; here all of them are side by side. */
function anywhere(text: string): string {
  return text.replaceAll("/dashboard/", "./");
}

function withGateway(html: string): string {
  return new HTMLRewriter()
    .on('link[rel="manifest"]', { element: (link) => void link.remove() })
    .on("head", {
      element: (head) =>
        void head.append(`<script src="./${SCRIPT}"></script><link rel="stylesheet" href="./${STYLE}">`, {
          html: true,
        }),
    })
    .on("body", { element: (body) => void body.prepend(BANNER_HTML, { html: true }) })
    .transform(html);
}

async function gatewayScript(): Promise<string> {
  const { outputs } = await Bun.build({
    entrypoints: [join(import.meta.dir, "gateway.ts")],
    target: "browser",
    // It has to run before the page's own, which is a module.
    format: "iife",
    minify: true,
  });
  const [script] = outputs;
  if (script === undefined) throw new Error("the demonstration has no script");
  return script.text();
}

if (import.meta.main) {
  const folder = process.argv[2] ?? "dist/demo";
  await buildDemo(folder);
  console.log(`Built ${folder}, for any web server: python3 -m http.server --directory ${folder}`);
}
