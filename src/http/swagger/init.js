/** Where the dashboard keeps its token (src/dashboard/token.ts). */
const KEY = "portcullis-token";

const bearing = (token) => (token === null ? {} : { Authorization: `Bearer ${token}` });

const mayRead = async (token) => {
  // A header can have nothing else.
  if (token !== null && !/^[!-~]+$/.test(token)) return false;
  return (await fetch("/api/access", { headers: bearing(token) })).status !== 401;
};

const token = keptToken();
if (await mayRead(token)) show(token);
else if (token !== null && (await mayRead(null))) show(null);
else askForToken();

function keptToken() {
  try {
    return sessionStorage.getItem(KEY) ?? localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

function show(token) {
  const ui = globalThis.SwaggerUIBundle({
    url: "/swagger/json",
    dom_id: "#swagger-ui",
    deepLinking: true,
    // Without a validator's address the page would ask swagger.io to check the document.
    validatorUrl: null,
    plugins: [{ fn: { resolveSubtree } }],
    requestInterceptor: (request) => {
      if (request.loadSpec) Object.assign(request.headers, bearing(token));
      return request;
    },
    onComplete: () => {
      if (token !== null) ui.preauthorizeApiKey("token", token);
    },
  });
}

/**
 * The part of the document at a path. Swagger UI itself would resolve the whole document for each operation that is
 * opened, which takes seconds; all references are to the document's own components, and none leads back to itself.
 */
async function resolveSubtree(document, path) {
  const at = (keys) => keys.reduce((part, key) => part?.[key], document);
  const resolved = (part) => {
    if (typeof part !== "object" || part === null) return part;
    if (Array.isArray(part)) return part.map(resolved);
    const { $ref, ...own } = part;
    const target = typeof $ref === "string" ? resolved(at($ref.split("/").slice(1))) : {};
    return {
      ...target,
      ...Object.fromEntries(Object.entries(own).map(([key, each]) => [key, resolved(each)])),
    };
  };
  return { spec: resolved(at(path)), errors: [] };
}

/** For this page only; whoever logs in at the dashboard is not asked. */
function askForToken() {
  const page = document.getElementById("swagger-ui");
  const form = document.createElement("form");
  const label = document.createElement("label");
  const input = Object.assign(document.createElement("input"), { type: "password", required: true });
  const button = Object.assign(document.createElement("button"), { textContent: "Log in" });
  const outcome = document.createElement("p");
  outcome.setAttribute("role", "alert");
  label.append("This gateway asks for a token: ", input, " ");
  form.append(label, button, outcome);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const token = input.value.trim();
    if (await mayRead(token)) show(token);
    else outcome.textContent = "This token is not valid, or was removed.";
  });
  page.replaceChildren(form);
}
