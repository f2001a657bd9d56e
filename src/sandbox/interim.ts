import { serveInternet } from "./internet.ts";

await serveInternet();
