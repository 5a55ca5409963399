// Style and mistakes in the page's JavaScript; its types are checked by tsc.
import js from "@eslint/js";

export default [
  js.configs.recommended,
  {
    files: ["src/*.js", "test/*.js", "build.mjs"],
    rules: {
      "no-undef": "off", // tsc knows what a browser has
      eqeqeq: "error",
      "no-var": "error",
      "prefer-const": "error",
      "no-unused-vars": ["error", { argsIgnorePattern: "^_" }],
      "max-lines": ["error", 250],
    },
  },
];
