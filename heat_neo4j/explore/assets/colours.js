// Colours of numbers: equal steps look equal, and lightness alone tells them apart, whatever colours an eye sees.

const HUES = [290, 100], CHROMA = 0.13; // in OKLCH, from blue over green to yellow

function shade(share, dark, bright) {
  const hue = (HUES[0] + (HUES[1] - HUES[0]) * share) * Math.PI / 180;
  return fromOklab(dark + (bright - dark) * share, CHROMA * Math.cos(hue), CHROMA * Math.sin(hue));
}

// Björn Ottosson, "A perceptual color space for image processing", 2020; 0 to 255, the nearest if there is none.
function fromOklab(light, a, b) {
  const l = (light + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (light - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (light - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ].map((linear) => {
    const part = Math.min(1, Math.max(0, linear));
    return Math.round(255 * (part <= 0.0031308 ? 12.92 * part : 1.055 * part ** (1 / 2.4) - 0.055));
  });
}
