package page

import (
	"fmt"
	"math"
)

// Contrast is the ratio of two colours' luminance as WCAG 2 defines it, from 1 to 21. The colours are as computed styles
// have them: rgb(12, 34, 56).
func Contrast(one, other string) (float64, error) {
	a, err := luminance(one)
	if err != nil {
		return 0, err
	}
	b, err := luminance(other)
	if err != nil {
		return 0, err
	}
	return (max(a, b) + 0.05) / (min(a, b) + 0.05), nil
}

func luminance(colour string) (float64, error) {
	var rgb [3]float64
	if _, err := fmt.Sscanf(colour, "rgb(%g, %g, %g)", &rgb[0], &rgb[1], &rgb[2]); err != nil {
		return 0, fmt.Errorf("read the colour %q: %w", colour, err)
	}
	for i, c := range rgb {
		if c /= 255; c <= 0.04045 {
			rgb[i] = c / 12.92
		} else {
			rgb[i] = math.Pow((c+0.055)/1.055, 2.4)
		}
	}
	return 0.2126*rgb[0] + 0.7152*rgb[1] + 0.0722*rgb[2], nil
}
