// Without a validator's address the page would ask swagger.io to check the document.
globalThis.SwaggerUIBundle({
  url: "/swagger/json",
  dom_id: "#swagger-ui",
  deepLinking: true,
  validatorUrl: null,
});
