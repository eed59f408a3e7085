/** Words of a list, separated by spaces. */
const words = (list: string): ReadonlySet<string> => new Set(list.trim().split(/\s+/));

/** Elements of SVG that draw, animate or describe, and cannot run code or load a document. */
export const allowedElements = words(`
  svg g defs symbol use path rect circle ellipse line polyline polygon text tspan textPath title desc metadata switch view a style
  linearGradient radialGradient stop pattern clipPath mask marker image filter
  feBlend feColorMatrix feComponentTransfer feComposite feConvolveMatrix feDiffuseLighting feDisplacementMap feDistantLight
  feDropShadow feFlood feFuncA feFuncB feFuncG feFuncR feGaussianBlur feImage feMerge feMergeNode feMorphology feOffset
  fePointLight feSpecularLighting feSpotLight feTile feTurbulence
  animate animateMotion animateTransform mpath set
`);

/** Attributes without a prefix. Besides these, `aria-*` and `data-*` are allowed. */
export const allowedAttributes = words(`
  id class style lang role tabindex version baseProfile xmlns href target type media title
  x y x1 y1 x2 y2 cx cy r rx ry fx fy fr dx dy width height d points pathLength rotate textLength lengthAdjust startOffset
  method side spacing path from to by values begin dur end min max restart repeatCount repeatDur attributeName attributeType
  additive accumulate calcMode keyTimes keySplines keyPoints origin viewBox preserveAspectRatio zoomAndPan transform
  gradientUnits gradientTransform spreadMethod offset patternUnits patternContentUnits patternTransform
  clipPathUnits maskUnits maskContentUnits markerUnits markerWidth markerHeight refX refY orient
  filterUnits primitiveUnits in in2 result mode operator k1 k2 k3 k4 order kernelMatrix divisor bias targetX targetY edgeMode
  kernelUnitLength preserveAlpha surfaceScale diffuseConstant specularConstant specularExponent azimuth elevation z pointsAtX
  pointsAtY pointsAtZ limitingConeAngle scale xChannelSelector yChannelSelector stdDeviation radius baseFrequency numOctaves
  seed stitchTiles tableValues slope intercept amplitude exponent
  systemLanguage requiredFeatures requiredExtensions contentScriptType contentStyleType enable-background
  alignment-baseline baseline-shift clip clip-path clip-rule color color-interpolation color-interpolation-filters
  color-profile color-rendering cursor direction display dominant-baseline fill fill-opacity fill-rule filter flood-color
  flood-opacity font font-family font-size font-size-adjust font-stretch font-style font-variant font-weight
  glyph-orientation-horizontal glyph-orientation-vertical image-rendering isolation kerning letter-spacing lighting-color
  marker marker-end marker-mid marker-start mask mask-type mix-blend-mode opacity overflow paint-order pointer-events
  shape-rendering solid-color solid-opacity stop-color stop-opacity stroke stroke-dasharray stroke-dashoffset stroke-linecap
  stroke-linejoin stroke-miterlimit stroke-opacity stroke-width text-anchor text-decoration text-overflow text-rendering
  transform-box transform-origin unicode-bidi vector-effect visibility white-space word-spacing writing-mode
`);

/** Functions in styles and presentation attributes. `url` is checked separately. */
export const allowedFunctions = words(`
  url rgb rgba hsl hsla hwb lab lch oklab oklch color color-mix calc min max clamp var
  matrix matrix3d translate translatex translatey translate3d rotate rotatex rotatey rotatez scale scalex scaley skew skewx
  skewy perspective cubic-bezier steps linear blur brightness contrast drop-shadow grayscale hue-rotate invert opacity
  saturate sepia circle ellipse inset polygon not
`);

/** Rules in a style sheet that load nothing by themselves. */
export const allowedAtRules = words('media supports keyframes font-face charset');

/** Namespaces of drawing programs and of metadata. Viewers ignore their elements and attributes. */
export const ignoredNamespaces: ReadonlySet<string> = new Set([
  'http://www.w3.org/1999/02/22-rdf-syntax-ns#',
  'http://purl.org/dc/elements/1.1/',
  'http://creativecommons.org/ns#',
  'http://web.resource.org/cc/',
  'http://www.inkscape.org/namespaces/inkscape',
  'http://sodipodi.sourceforge.net/DTD/sodipodi-0.dtd',
  'http://www.bohemiancoding.com/sketch/ns',
  'http://www.serif.com/',
]);
