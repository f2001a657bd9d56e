import { Type } from "typebox";
import { firstLook } from "./dashboard/first-look.ts";
import { NOT_FOUND } from "./errors.ts";
import { isKnown } from "./etag.ts";
import { route } from "./route.ts";
import { sharedAnswer } from "./shared-answer.ts";

/** `/`, the dashboard, and its files below `/dashboard/`, whose names have a hash of their content. Without them, nobody could log in. */
export const dashboardRoutes = [
  route({
    method: "get",
    path: "/",
    access: "open",
    page: true,
    run: async (domain, { request }) => {
      const page = (await files()).get(PAGE);
      if (page === undefined) throw NOT_FOUND;
      const html = await firstLook(await (await page.plain()).text(), request, domain);
      return answerWith(fileOf(page.type, Bun.gzipSync(html)), "no-store", request, ownAnswer);
    },
  }),
  route({
    method: "get",
    path: "/dashboard/:name",
    params: { name: Type.String() },
    access: "open",
    run: async (_, { request, params }) => answerWith((await files()).get(params.name), FOR_EVER, request),
  }),
];

const files = once(load);

const PAGE = "index.html";
const FOR_EVER = "public, max-age=31536000, immutable";

const TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
  png: "image/png",
  webmanifest: "application/manifest+json",
  json: "application/json",
};

/** Allows only the gateway's own files and answers, and its WebSocket. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

interface File {
  type: string;
  gzip: Blob;
  plain: () => Promise<Blob>;
  tag: string;
}

/** At the first request for the page, because a gateway may run for months without one. */
async function load(): Promise<ReadonlyMap<string, File>> {
  const { FILES } = await import("./dashboard/files.ts");
  return new Map(
    Object.entries(FILES).map(([name, text]) => {
      const type = TYPES[name.replace(/.*\./, "")] ?? "application/octet-stream";
      return [name, fileOf(type, Uint8Array.fromBase64(text))];
    }),
  );
}

function fileOf(type: string, bytes: Uint8Array<ArrayBuffer>): File {
  const gzip = new Blob([bytes]);
  const plain = once(async () => new Blob([Bun.gunzipSync(await gzip.bytes())]));
  return { type, gzip, plain, tag: `"${Bun.hash(bytes).toString(16)}"` };
}

async function answerWith(
  file: File | undefined,
  caching: string,
  request: Request,
  answer = sharedAnswer,
): Promise<Response> {
  if (file === undefined) throw NOT_FOUND;
  const headers = {
    "Content-Type": file.type,
    "Content-Security-Policy": POLICY,
    "Cache-Control": caching,
    // Weak, because it is the same for both encodings (RFC 9110, section 8.8.3).
    ETag: `W/${file.tag}`,
    Vary: "Accept-Encoding",
  };
  if (isKnown(file.tag, request)) return new Response(null, { status: 304, headers });
  if (!takesGzip(request)) return answer(await file.plain(), { headers });
  return answer(file.gzip, { headers: { ...headers, "Content-Encoding": "gzip" } });
}

const ownAnswer: typeof sharedAnswer = (body, init) => new Response(body, init);

/** RFC 9110, section 12.5.3. `*` counts as no: everyone understands what is not encoded. */
function takesGzip(request: Request): boolean {
  const offers = (request.headers.get("accept-encoding") ?? "").split(",").map((each) => each.trim());
  return offers.some((each) => /^(x-)?gzip(;q=(?!0(\.0*)?$).*)?$/i.test(each.replaceAll(" ", "")));
}

function once<T>(work: () => Promise<T>): () => Promise<T> {
  let begun: Promise<T> | null = null;
  return () => {
    begun ??= work();
    return begun;
  };
}
