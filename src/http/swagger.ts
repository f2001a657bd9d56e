import licence from "swagger-ui-dist/LICENSE" with { type: "file" };
import styles from "swagger-ui-dist/swagger-ui.css" with { type: "file" };
import bundle from "swagger-ui-dist/swagger-ui-bundle.js" with { type: "file" };
import credits from "swagger-ui-dist/swagger-ui-bundle.js.LICENSE.txt" with { type: "file" };
import { isKnown } from "./etag.ts";
import { route } from "./route.ts";
import { sharedAnswer } from "./shared-answer.ts";
import page from "./swagger/index.html" with { type: "file" };
import init from "./swagger/init.js" with { type: "file" };

const HTML = "text/html; charset=utf-8";
const SCRIPT = "text/javascript; charset=utf-8";
const TEXT = "text/plain; charset=utf-8";

const FILES: Record<string, { file: string; type: string }> = {
  "/swagger": { file: page, type: HTML },
  "/swagger/": { file: page, type: HTML },
  "/swagger/init.js": { file: init, type: SCRIPT },
  "/swagger/swagger-ui-bundle.js": { file: bundle, type: SCRIPT },
  "/swagger/swagger-ui.css": { file: styles, type: "text/css; charset=utf-8" },
  "/swagger/LICENSE": { file: licence, type: TEXT },
  "/swagger/swagger-ui-bundle.js.LICENSE.txt": { file: credits, type: TEXT },
};

/** `/swagger`, a page that works without the internet: Swagger UI is embedded in the executable. */
export const swaggerRoutes = Object.entries(FILES).map(([path, { file, type }]) => {
  const answer = answerWith(file, type);
  const page = type === HTML ? { page: true as const } : {};
  return route({ method: "get", path, access: "open", ...page, run: (_, { request }) => answer(request) });
});

/** Allows only the gateway's own files and answers; the icons in Swagger UI's style sheet are `data:` URLs. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** Browsers cache the file and revalidate it, because another version of the gateway has other files. */
function answerWith(path: string, type: string): (request: Request) => Promise<Response> {
  let tag: string | undefined;
  return async (request) => {
    const file = Bun.file(path);
    tag ??= `"${Bun.hash(await file.bytes()).toString(16)}"`;
    const headers = {
      "Content-Type": type,
      "Content-Security-Policy": POLICY,
      "Cache-Control": "no-cache",
      ETag: tag,
    };
    return isKnown(tag, request)
      ? new Response(null, { status: 304, headers })
      : sharedAnswer(file, { headers });
  };
}
