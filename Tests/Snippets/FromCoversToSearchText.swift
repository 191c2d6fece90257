// What the text of the article assumes.
import Foundation
import Lookalike

let search: CoverSearch = assumed()
let file = URL(fileURLWithPath: "photo.jpg")
let pixels: PixelBuffer = assumed()
let (width, height) = (640.0, 480.0)
